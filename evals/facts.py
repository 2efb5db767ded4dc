"""What people tell in the made-up conversations, and how it is asked for later.

A line is a kind, the turns in which a fact is told, and questions. `>` is said by the listener, `*` marks the turn
that is to be found. {who} is the teller's name, other braces are chosen anew each time. Questions of the kind
`apart` share no word with what was said, those of the kind `literal` most of them; `short` ones want an answer of a
word or two.

Constants of the ranking are chosen with TUNING alone; HELD_BACK says how well they do on what they never saw.
"""

NAMES = (
    *("Maya", "Tom", "Ines", "Pavel", "Ruth", "Kofi", "Lena", "Omar", "Sven", "Aiko", "Carla", "Juan"),
    *("Priya", "Noah", "Greta", "Farid", "Wanda", "Luis"),
)
CHOICES: dict[str, tuple[str, ...]] = {
    "pet": ("beagle", "tabby", "parrot", "rabbit", "greyhound", "tortoise", "hamster", "terrier"),
    "petname": ("Rufus", "Clover", "Biscuit", "Pepper", "Mochi", "Tango", "Olive", "Bandit"),
    "city": ("Lisbon", "Leeds", "Oslo", "Kyoto", "Tampere", "Quito", "Bergen", "Ghent", "Porto", "Austin"),
    "dish": ("lasagna", "ramen", "goulash", "paella", "dumplings", "ratatouille", "risotto", "curry"),
    "job": ("nurse", "carpenter", "bookkeeper", "pilot", "tailor", "geologist", "welder", "librarian"),
    "instrument": ("cello", "banjo", "clarinet", "accordion", "harp", "trombone", "ukulele", "oboe"),
    "relative": ("sister", "uncle", "grandmother", "cousin", "brother", "aunt", "niece", "nephew"),
    "allergy": ("peanuts", "shellfish", "pollen", "penicillin", "gluten", "wasps", "latex", "eggs"),
    "sport": ("climbing", "rowing", "fencing", "badminton", "judo", "curling", "archery", "squash"),
    "car": ("Volvo", "Fiat", "van", "motorbike", "camper", "scooter", "Skoda", "pickup"),
    "month": ("January", "March", "May", "July", "October", "December", "April", "August"),
    "number": ("twelve", "thirty", "forty-two", "seven", "nineteen", "sixty", "eleven", "ninety"),
    "book": ("Dracula", "Middlemarch", "Dune", "Emma", "Ulysses", "Beloved", "Persuasion", "Kim"),
    "plant": ("tomatoes", "roses", "chillies", "lavender", "pumpkins", "figs", "basil", "tulips"),
    "colour": ("green", "maroon", "turquoise", "mustard", "lilac", "charcoal", "ivory", "crimson"),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}

TUNING = """
literal: *Guess what, I went to a pottery workshop in {city} with my {relative} last weekend and made a lopsided {colour} bowl. => When did {who} go to the pottery workshop? => What did {who} make at the pottery workshop?
literal: *I signed up for a charity race in {month}, we are raising money for the animal shelter where I volunteer. => What charity race did {who} sign up for? => Where does {who} volunteer?
literal: *Honestly the support group has been such a help, everybody listens and nobody judges you there. => How has the support group helped {who}?
literal: *We drove up the coast in the old {car}, camped two nights at the beach and saw a meteor shower. => What did {who} see while camping at the beach? => Where did {who} go camping?
literal: *My painting of the sunrise over {city} got into the exhibition at the town library! => Which painting of {who}'s is in the exhibition? => Where is {who}'s painting exhibited?
literal: *I have been seeing a physiotherapist every {day} since the accident on my bike. => Why does {who} see a physiotherapist? => How often does {who} go to the physiotherapist?
literal: *Grandpa's watch finally works again, the repair shop on Mill Street found the missing part after {number} weeks. => Who repaired the watch for {who}? => How long did the repair of the watch take?
literal: *I gave a talk at my old school about becoming a {job}, the kids asked brilliant questions. => What was {who}'s talk at the school about?
literal: *Our book club is reading {book} this month, and next time we meet at my place on {day}. => What is {who}'s book club reading? => When does the book club meet at {who}'s?
literal: *I am thinking about adopting a child, I have already called two agencies and will meet one in {month}. => What are {who}'s plans about adoption? => When will {who} meet the adoption agency?
literal: *The festival was packed, we danced until {number} past midnight and lost our friend Bruno in the crowd. => Whom did {who} lose at the festival?
literal: *I baked my first sourdough, the crust was hard as a rock but the kids ate all of it with honey. => How did {who}'s first sourdough turn out?
plain: *We just adopted a {pet}, he is called {petname}. => What is the name of {who}'s pet? => What animal did {who} get?
answer: >Where did you grow up? / *In {city}, right by the river. => Where did {who} spend childhood? => Which town is {who} from originally?
apart: *I burned the {dish} again last night, smoke everywhere. => What did {who} ruin in the kitchen? => Which meal went wrong for {who}?
answer: >So what do you do for a living? / *I work as a {job}, mostly nights. => What is {who}'s profession? => {who} occupation
apart: *Started {instrument} lessons this week, my fingers hurt. => Which musical instrument is {who} learning?
plain: *My {relative} is getting married in {month}, in {city}. => When is the wedding in {who}'s family? => Who of {who}'s relatives is about to marry?
answer: >Anything you cannot eat? / *Careful with {allergy}, I had to go to hospital once. => What is {who} allergic to? => {who} allergies
apart: *{sport} on Saturdays keeps me sane these days. => What does {who} do for exercise at weekends?
plain: *The {car} broke down on the motorway, towing cost me {number} hundred. => What happened to {who}'s vehicle? => How much did {who} pay for the tow?
short: >What are you reading at the moment? / *{book}. It is slow, but I like it. => Which novel is {who} reading?
apart: *Our {plant} died in the frost, all of them. => What did {who} lose in the garden in the cold?
plain: *I finally quit smoking, {number} days without a cigarette. => What bad habit did {who} give up? => How long has {who} not smoked?
answer: >When do you move? / *In {month}, to {city}, if the lease is signed. => When will {who} change homes? => To which city is {who} relocating?
apart: *Doctor says I have to sleep more and drop the coffee. => What medical advice did {who} receive?
apart: *The interview at the bank went badly, I froze. => How did {who}'s job application go?
answer: >Did your {relative} like the present? / *She cried, she loved the photo album. => What gift did {who} give?
short: >Which colour did you paint the hall? / *{colour}. => What colour is {who}'s hallway?
short: >And how many people came? / *About {number}. => How many guests did {who} have?
plain: *I joined a choir on {day} evenings, they are lovely people. => When does {who} sing? => What club did {who} join?
apart: *My knee is acting up again, I can barely take the stairs. => What health problem does {who} have with walking?
plain: *Booked two weeks in {city} for {month}, flights and all. => Where is {who} going on holiday? => {who} vacation plans
apart: *The landlord wants {number} percent more from next year. => Why might {who}'s rent be a problem?
"""

HELD_BACK = """
literal: *Last Friday I took my {relative} to the aquarium and she would not leave the jellyfish tank. => Where did {who} take the {relative} last Friday? => What did {who}'s {relative} like at the aquarium?
literal: *I started therapy in {month} and it is helping me to set boundaries with my boss. => When did {who} start therapy? => What does therapy help {who} with?
literal: *We are building a treehouse for the kids, {number} planks are already sawn and painted {colour}. => What is {who} building for the kids? => Which colour are the planks of the treehouse?
literal: *I won second prize at the baking contest with a plum tart, can you believe it? => What did {who} win at the baking contest? => Which tart did {who} bake for the contest?
literal: *The museum offered me a part-time job as a guide, {day}s and weekends, starting in {month}. => What job did the museum offer {who}? => When does {who} start at the museum?
literal: *My old friend Teresa visited from {city} and brought me a handmade necklace that means a lot to me. => Who gave {who} the handmade necklace? => From where did {who}'s friend Teresa visit?
literal: *I read a wonderful article about coral reefs and decided to stop flying for a year. => Why did {who} decide to stop flying?
literal: *We finished the thousand-piece puzzle at last, only to find that one piece of the sky is missing. => What happened with {who}'s puzzle?
literal: *I am mentoring a young {job} at work now, she reminds me of myself at that age. => Whom is {who} mentoring at work?
literal: *Our street had a power cut for {number} hours, so we told ghost stories by candlelight. => What did {who} do during the power cut? => How long was the power cut in {who}'s street?
literal: *I finally framed the concert ticket from {city}, the night I heard the {instrument} solo that changed my life. => What did {who} frame? => Which solo changed {who}'s life?
literal: *The marathon training plan says five runs a week, but I only manage three with this job. => How many runs a week does {who} manage?
plain: *I dropped my phone in the lake near {city} on {day}. => What did {who} lose in the water? => How did {who}'s phone get broken?
short: >What do you call the boat? / *{petname}, after my {relative}. => What is the name of {who}'s ship?
answer: >How long have you two been together? / *{number} years this {month}. => How long has {who} been in the relationship?
apart: *They let me go yesterday, the whole department is gone. => Why is {who} out of work?
apart: *I cannot stand heights, I froze on the ladder. => What is {who} afraid of?
plain: *The twins start school in {month}, I am not ready for that. => When do {who}'s children begin school? => {who} kids school
answer: >What did the vet say? / *It is only a sprain, he has to rest for {number} days. => What was wrong with {who}'s animal?
short: >Tea or coffee for you? / *Neither, just hot water with lemon. => What does {who} like to drink?
apart: *We scraped together enough for the deposit, keys next {day}. => What did {who} buy?
plain: *I am learning Portuguese with a tutor from {city}. => Which language is {who} studying? => Where is {who}'s teacher from?
apart: *Ran the whole forty-two kilometres, toenails be damned. => Which race did {who} finish?
answer: >Who is looking after the {plant} while you are away? / *My neighbour Edith, she has a key. => Who waters {who}'s garden during the trip?
short: >Which size do you take? / *A {number}, they run small. => What shoe size does {who} wear?
apart: *No meat for me since the new year, not even fish. => What is {who}'s diet?
plain: *My {relative} gave me her old {instrument}, it needs new strings. => Who gave {who} the {instrument}? => What did {who} inherit from the family?
apart: *The basement is under water again after the storm. => What damage did the weather do at {who}'s house?
answer: >What is the password hint for the shared album? / *The street where we met, plus {number}. => How does {who} open the shared album?
plain: *I sold the {car} to a student for {number} hundred. => To whom did {who} sell the vehicle? => What price did {who} get for the {car}?
apart: *I keep waking at four and cannot drop off again. => What sleeping trouble does {who} have?
short: >Where did you leave the spare key? / *Under the blue pot. => Where does {who} hide the key?
apart: *We are expecting, due in {month}! => When will {who}'s baby be born?
plain: *My essay on {book} got the top mark in the class. => What did {who} write about? => How did {who} do in the literature course?
"""

SMALL_TALK = (
    "How was your day?", "Not bad, a bit tired.", "Same here.", "Did you see the match yesterday?", "No, I fell asleep.",
    "It is raining again.", "Typical.", "What are you up to later?", "Nothing much, maybe a film.", "Which one?",
    "Something light.", "Sounds good.", "I should get going.", "Talk soon!", "Ha, true.", "I know what you mean.",
    "Let me think about it.", "My phone is almost dead.", "The bus was late again this morning.", "Oh no.", "Work was long.",
    "I need a holiday.", "Who does not?", "We should meet up some time.", "Yes, let us plan something.", "Have you eaten?",
    "Just had a sandwich.", "The neighbours are loud tonight.", "Close the window then.", "Good idea.",
)  # fmt: skip
DISTRACTORS = (
    "Somebody at work got a {pet} too, imagine that.", "They say {city} is lovely in {month}.", "I read that {dish} is easy.",
    "A {job} on television said the same.", "My neighbour plays the {instrument}, all night long.", "I never liked {sport}.",
    "The {car} in front of me would not move.", "People with {allergy} trouble have it hard.", "{number} degrees on {day}!",
    "My colleague's {relative} is ill.", "Do you know {book}? I gave up after a chapter.", "The market had {plant} today.",
    "I saw a {colour} house and thought of you.", "Who needs {number} of those?", "On {day} the trains do not run.",
)  # fmt: skip
"""Said about other people, with the same words."""
ADVICE = (
    "Here is a short overview. First, decide what matters most to you, since that narrows the choice at once. Then set a "
    "budget and keep a reserve of about a tenth. Compare three offers, ask for references, and read the small print on "
    "cancellation. If you are unsure, wait a day before you sign. Tell me if you want a checklist for any of these steps.",
    "Good question. There are three common ways to do this. The quick one takes an hour and is enough for most people; the "
    "thorough one takes a weekend and lasts for years; the third is to let somebody else do it. I would begin with the quick "
    "one and look at the result after a week. Shall I write down what you need for it?",
    "It depends on the season, on the place and on how much time you have. In general mornings are better than evenings, and "
    "small steps better than large ones. Keep notes on what you tried, so that you can see what helped. I can remind you of "
    "this next week if you like.",
)
"""What an assistant says at length, whatever it is asked."""

"""How well search finds what was once said: recall@5/10, MRR and nDCG, by words, by meaning, and by both.

    make eval                                  # made-up conversations, always the same
    make eval ARGS="--file talks.json"         # a set of your own
    make eval ARGS="--queries"                 # every question with the rank of its answer

Conversations are generated: people who tell facts about themselves in the course of many sessions, short turns,
answers that only make sense after their question, and much small talk about other things. Questions ask for a
fact in other words than it was told in. Small talk comes from the package `chatterbot-corpus` where that is
installed (`pip install chatterbot-corpus`), and else from sentences made here.

A file has a list of `{"turns": [{"speaker", "role", "text", "at"}], "questions": [{"question", "evidence": [turn
numbers]}]}`. It is no part of the test suite: its figures are a measurement, not a promise.
"""

# ruff: noqa: T201 - it prints its figures

import argparse
import asyncio
import math
import random
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert

from remanence.accounts.repository import ensure_defaults
from remanence.core.llm import LLMConfig
from remanence.core.message import Message, text_parts
from remanence.db.database import Database, open_database
from remanence.db.migrate import migrate
from remanence.db.tables import AgentRow
from remanence.kit import json
from remanence.kit.ids import DEFAULT_ORG_ID, AgentId, new_agent_id, new_message_id
from remanence.llm.local.embedded import EmbeddedSource
from remanence.llm.local.embedding import LOCAL_EMBEDDING
from remanence.llm.registry import EmbedderRegistry
from remanence.llm.transport import Transport
from remanence.messages.repository import insert_messages
from remanence.search.embedding import BackgroundEmbedding
from remanence.search.messages import message_documents
from remanence.search.ports import SearchQuery, open_index
from remanence.search.service import Search

DEPTH = 10


@dataclass(frozen=True, slots=True)
class Turn:
    speaker: str
    role: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    evidence: frozenset[int]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    turns: Sequence[Turn]
    questions: Sequence[Question]


# The made-up set. Each fact: turns in which it is told (the first by the one who tells; `>` marks the other's
# question before it), which turn is the evidence, and questions in other words. {x} is chosen anew each time.

NAMES = ("Maya", "Tom", "Ines", "Pavel", "Ruth", "Kofi", "Lena", "Omar", "Sven", "Aiko", "Carla", "Juan")
CHOICES: dict[str, tuple[str, ...]] = {
    "pet": ("beagle", "tabby", "parrot", "rabbit", "greyhound", "tortoise"),
    "petname": ("Rufus", "Clover", "Biscuit", "Pepper", "Mochi", "Tango"),
    "city": ("Lisbon", "Leeds", "Oslo", "Kyoto", "Tampere", "Quito", "Bergen", "Ghent"),
    "dish": ("lasagna", "ramen", "goulash", "paella", "dumplings", "ratatouille"),
    "job": ("nurse", "carpenter", "bookkeeper", "pilot", "tailor", "geologist"),
    "instrument": ("cello", "banjo", "clarinet", "accordion", "harp", "trombone"),
    "relative": ("sister", "uncle", "grandmother", "cousin", "brother", "aunt"),
    "allergy": ("peanuts", "shellfish", "pollen", "penicillin", "gluten", "wasps"),
    "sport": ("climbing", "rowing", "fencing", "badminton", "judo", "curling"),
    "car": ("Volvo", "Fiat", "van", "motorbike", "camper", "scooter"),
    "month": ("January", "March", "May", "July", "October", "December"),
    "number": ("twelve", "thirty", "forty-two", "seven", "nineteen", "sixty"),
    "book": ("Dracula", "Middlemarch", "Dune", "Emma", "Ulysses", "Beloved"),
    "plant": ("tomatoes", "roses", "chillies", "lavender", "pumpkins", "figs"),
}
FACTS: tuple[tuple[tuple[str, ...], int, tuple[str, ...], str], ...] = (
    (
        ("We just adopted a {pet}, he is called {petname}.",),
        0,
        ("What is the name of {who}'s pet?", "What animal did {who} get?"),
        "plain",
    ),
    (
        (">Where did you grow up?", "In {city}, right by the river."),
        1,
        ("Where did {who} spend childhood?", "Which town is {who} from originally?"),
        "answer",
    ),
    (
        ("I burned the {dish} again last night, smoke everywhere.",),
        0,
        ("What did {who} ruin in the kitchen?", "Which meal went wrong for {who}?"),
        "meaning",
    ),
    (
        (">So what do you do for a living?", "I work as a {job}, mostly nights."),
        1,
        ("What is {who}'s profession?", "What is {who}'s occupation?"),
        "answer",
    ),
    (
        ("Started {instrument} lessons this week, my fingers hurt.",),
        0,
        ("Which musical instrument is {who} learning?",),
        "meaning",
    ),
    (
        ("My {relative} is getting married in {month}, in {city}.",),
        0,
        ("When is the wedding in {who}'s family?", "Who of {who}'s relatives is about to marry?"),
        "plain",
    ),
    (
        (">Anything you cannot eat?", "Careful with {allergy}, I had to go to hospital once."),
        1,
        ("What is {who} allergic to?",),
        "answer",
    ),
    (
        ("{sport} on Saturdays keeps me sane these days.",),
        0,
        ("What does {who} do for exercise at weekends?",),
        "meaning",
    ),
    (
        ("The {car} broke down on the motorway, towing cost me {number} hundred.",),
        0,
        ("What happened to {who}'s vehicle?", "How much did {who} pay for the tow?"),
        "plain",
    ),
    (
        (">What are you reading at the moment?", "{book}. It is slow, but I like it."),
        1,
        ("Which novel is {who} reading?",),
        "answer",
    ),
    (
        ("Our {plant} died in the frost, all of them.",),
        0,
        ("What did {who} lose in the garden in the cold?",),
        "meaning",
    ),
    (
        ("I finally quit smoking, {number} days without a cigarette.",),
        0,
        ("What bad habit did {who} give up?", "How long has {who} not smoked?"),
        "plain",
    ),
    (
        (">When do you move?", "In {month}, to {city}, if the lease is signed."),
        1,
        ("When will {who} change homes?", "To which city is {who} relocating?"),
        "answer",
    ),
    (
        ("Doctor says I have to sleep more and drop the coffee.",),
        0,
        ("What medical advice did {who} receive?",),
        "meaning",
    ),
    (
        ("The interview at the bank went badly, I froze.",),
        0,
        ("How did {who}'s job application go?",),
        "meaning",
    ),
    (
        (">Did your {relative} like the present?", "She cried, she loved the photo album."),
        1,
        ("What gift did {who} give?",),
        "answer",
    ),
)
SMALL_TALK = (
    "How was your day?", "Not bad, a bit tired.", "Same here.", "Did you see the match yesterday?", "No, I fell asleep.",
    "It is raining again.", "Typical.", "What are you up to later?", "Nothing much, maybe a film.", "Which one?",
    "Something light.", "Sounds good.", "I should get going.", "Talk soon!", "Ha, true.", "I know what you mean.",
    "Let me think about it.", "My phone is almost dead.", "The bus was late again this morning.", "Oh no.", "Work was long.",
    "I need a holiday.", "Who does not?", "We should meet up some time.", "Yes, let us plan something.", "Have you eaten?",
    "Just had a sandwich.", "The neighbours are loud tonight.", "Close the window then.", "Good idea.",
)  # fmt: skip


def make_conversation(dice: random.Random, turns_wanted: int, talk: Sequence[Sequence[str]]) -> Conversation:
    one, other = dice.sample(NAMES, 2)
    told: list[tuple[tuple[str, ...], int, tuple[str, ...], str, str]] = []
    for who in (one, other):
        for turns, place, questions, kind in FACTS:
            values = {name: dice.choice(words) for name, words in CHOICES.items()}
            told.append(
                (
                    tuple(turn.format(**values) for turn in turns),
                    place,
                    tuple(question.format(who=who, **values) for question in questions),
                    kind,
                    who,
                )
            )
    dice.shuffle(told)
    turns: list[Turn] = []
    questions: list[Question] = []
    at = datetime(2025, 1, 6, 18, tzinfo=UTC)
    gap = max(1, turns_wanted // len(told))

    def say(speaker: str, text: str) -> None:
        nonlocal at
        at += timedelta(seconds=dice.randint(10, 120))
        turns.append(Turn(speaker, "user" if speaker == one else "assistant", text, at))

    for told_turns, place, asked, kind, who in told:
        speaker = dice.choice((one, other))
        until = len(turns) + gap + dice.randint(-gap // 3, gap // 3)
        while len(turns) < until:
            for text in dice.choice(talk):
                say(speaker, text)
                speaker = other if speaker == one else one
            if dice.random() < 0.1:
                at += timedelta(days=dice.randint(1, 6), hours=dice.randint(0, 9))
        first = len(turns)
        listener = other if who == one else one
        for text in told_turns:
            say(listener if text.startswith(">") else who, text.removeprefix(">"))
        say(
            listener,
            dice.choice(("Oh really?", "I see.", "Good to know.", "No way!", "Tell me more some time.")),
        )
        questions += [Question(text, frozenset({first + place}), kind) for text in asked]
    return Conversation(turns, questions)


def small_talk() -> list[list[str]]:
    """Short exchanges about nothing that is asked for."""
    try:
        import chatterbot_corpus  # pyright: ignore[reportMissingImports] - optional
    except ImportError:
        return [list(SMALL_TALK[start : start + 3]) for start in range(len(SMALL_TALK) - 2)]
    folder = Path(str(chatterbot_corpus.__file__)).parent / "data" / "english"  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    talks: list[list[str]] = []
    for file in sorted(folder.glob("*.yml")):
        current: list[str] = []
        for line in file.read_text("utf-8").splitlines():
            found = re.match(r"^(- )?\s*- (.+)$", line)
            if found and found[1]:
                current = [found[2].strip("'\" ")]
                talks.append(current)
            elif found and talks:
                current.append(found[2].strip("'\" "))
    return [talk for talk in talks if 2 <= len(talk) <= 12]


def made_up(count: int, turns: int) -> Iterator[Conversation]:
    dice = random.Random(11)
    talk = small_talk()
    for _ in range(count):
        yield make_conversation(dice, turns, talk)


def read_file(path: Path) -> Iterator[Conversation]:
    for entry in json.decode(path.read_bytes()):
        yield Conversation(
            [
                Turn(
                    each["speaker"],
                    each.get("role", "user"),
                    each["text"],
                    datetime.fromisoformat(each["at"]),
                )
                for each in entry["turns"]
            ],
            [
                Question(each["question"], frozenset(each["evidence"]), str(each.get("kind", "")))
                for each in entry["questions"]
            ],
        )


# Measuring


@dataclass(slots=True)
class Score:
    asked: int = 0
    recall5: float = 0.0
    recall10: float = 0.0
    mrr: float = 0.0
    ndcg: float = 0.0
    seconds: float = 0.0

    def note(self, found: Sequence[int], evidence: frozenset[int], seconds: float) -> None:
        self.asked += 1
        self.seconds += seconds
        self.recall5 += len(evidence & set(found[:5])) / len(evidence)
        self.recall10 += len(evidence & set(found[:DEPTH])) / len(evidence)
        ranks = [rank for rank, turn in enumerate(found, 1) if turn in evidence]
        self.mrr += 1 / ranks[0] if ranks else 0.0
        ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(evidence), DEPTH) + 1))
        self.ndcg += sum(1 / math.log2(rank + 1) for rank in ranks) / ideal

    def line(self, name: str) -> str:
        count = self.asked or 1
        figures = (self.recall5, self.recall10, self.mrr, self.ndcg)
        shown = "".join(f"{figure / count:>11.3f}" for figure in figures)
        return f"{name:<22}{self.asked:>6}{shown}{1000 * self.seconds / count:>9.2f}"


MODES = {"lexical": ("fts", True, False), "vector": ("vector", False, True), "fused": ("hybrid", True, True)}


async def load(db: Database, conversation: Conversation) -> tuple[str, dict[str, int]]:
    """The agent that now remembers the conversation, and the turn of each of its messages."""
    agent_id: AgentId = new_agent_id()
    config = LLMConfig(model="m", model_endpoint_type="openai", context_window=8192)
    messages = [
        Message(
            id=new_message_id(),
            agent_id=agent_id,
            role="user" if turn.role == "user" else "assistant",
            content=text_parts(turn.text),
            name=turn.speaker,
            created_at=turn.at,
        )
        for turn in conversation.turns
    ]
    index = open_index(db)

    def save(connection: Connection) -> None:
        row = {"id": agent_id, "organization_id": DEFAULT_ORG_ID, "llm_config": config}
        connection.execute(insert(AgentRow), row | {"embedding_config": LOCAL_EMBEDDING.embedding_config()})
        insert_messages(connection, DEFAULT_ORG_ID, messages)
        index.index(connection, message_documents(messages, DEFAULT_ORG_ID))

    await db.write(save)
    return agent_id, {message.id: number for number, message in enumerate(messages)}


async def measure(conversations: Sequence[Conversation], url: str, *, shows_queries: bool) -> None:
    await migrate(url)
    db = open_database(url)
    transport = Transport()
    try:
        await db.write(ensure_defaults)
        index = open_index(db)
        await db.write(index.open)
        search = Search(db, index, EmbedderRegistry([EmbeddedSource(None)], transport).embed)
        worker = BackgroundEmbedding(db, index, search)
        scores: dict[str, Score] = {}
        for conversation in conversations:
            agent_id, turns = await load(db, conversation)
            while await worker.embed_some():
                pass
            for question in conversation.questions:
                query = SearchQuery(
                    organization_id=DEFAULT_ORG_ID, text=question.text, owner_ids=[agent_id], limit=DEPTH
                )
                for mode, (_, uses_words, uses_meaning) in MODES.items():
                    began = time.perf_counter()
                    hits = await search.find(replace(query, uses_words=uses_words), uses_meaning=uses_meaning)
                    spent = time.perf_counter() - began
                    found = [turns[hit.id] for hit in hits]
                    for name in (mode, f"  {mode} {question.kind}"):
                        scores.setdefault(name, Score()).note(found, question.evidence, spent)
                    if shows_queries and mode == "fused":
                        ranks = [rank for rank, turn in enumerate(found, 1) if turn in question.evidence]
                        said = [conversation.turns[turn].text for turn in sorted(question.evidence)]
                        print(f"{ranks or '-'!s:<8} {question.text}  <=  {said}")
        print(f"{'':<22}{'asked':>6}{'recall@5':>11}{'recall@10':>11}{'MRR':>11}{'nDCG@10':>11}{'ms':>9}")
        for name in sorted(scores, key=lambda name: (name.split()[0], name)):
            print(scores[name].line(name))
    finally:
        await transport.close()
        await db.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--file", type=Path, help="a set of your own")
    parser.add_argument("--url", help="a database; a SQLite file of its own by default")
    parser.add_argument("--count", type=int, default=6, help="made-up conversations")
    parser.add_argument("--turns", type=int, default=600, help="turns of each, about")
    parser.add_argument("--queries", action="store_true", help="show each question")
    given: Any = parser.parse_args()
    conversations = list(read_file(given.file) if given.file else made_up(given.count, given.turns))
    with tempfile.TemporaryDirectory() as folder:
        url = given.url or f"sqlite:///{folder}/eval.sqlite3"
        asyncio.run(measure(conversations, url, shows_queries=given.queries))


if __name__ == "__main__":
    main()

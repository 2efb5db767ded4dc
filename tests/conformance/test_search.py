"""What search promises, on both engines."""

import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, text, update

from remanence.accounts.repository import create_organization
from remanence.core.llm import LLMConfig
from remanence.core.message import Message, Role, TextPart, ToolCall, ToolReturn, text_parts
from remanence.core.packing import pack_alert, pack_heartbeat, pack_tool_return, pack_user_message
from remanence.core.search_text import MAX_INDEXED_CHARS
from remanence.db.database import Database
from remanence.db.tables import AgentRow, MessageRow
from remanence.kit.ids import (
    DEFAULT_ORG_ID,
    AgentId,
    ConversationId,
    OrgId,
    new_agent_id,
    new_id,
    new_message_id,
)
from remanence.messages.repository import insert_messages
from remanence.search.messages import message_documents
from remanence.search.ports import Hit, SearchQuery, open_index

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
CONFIG = LLMConfig(model="m", model_endpoint_type="openai", context_window=8192)


class Recall:
    """A database with agents in it, and what they remember."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.index = open_index(db)
        self.agent_id = new_agent_id()
        self._moment = NOON

    async def add_agent(
        self, organization_id: OrgId = DEFAULT_ORG_ID, agent_id: AgentId | None = None
    ) -> AgentId:
        agent_id = agent_id or new_agent_id()

        def add(connection: Connection) -> None:
            values = {"id": agent_id, "organization_id": organization_id, "llm_config": CONFIG}
            connection.execute(insert(AgentRow), values)

        await self.db.write(add)
        return agent_id

    async def keep(self, *messages: Message, organization_id: OrgId = DEFAULT_ORG_ID) -> None:
        def save(connection: Connection) -> None:
            insert_messages(connection, organization_id, messages)
            self.index.index(connection, message_documents(messages, organization_id))

        await self.db.write(save)

    async def say(self, words: str, role: Role = "user", **fields: Any) -> str:
        organization_id = fields.pop("organization_id", DEFAULT_ORG_ID)
        message = self.message(words, role, **fields)
        await self.keep(message, organization_id=organization_id)
        return message.id

    def message(self, words: str, role: Role = "user", **fields: Any) -> Message:
        self._moment += timedelta(seconds=1)
        known: dict[str, Any] = {
            "id": new_message_id(),
            "agent_id": self.agent_id,
            "created_at": self._moment,
        }
        return Message(role=role, content=text_parts(words), **(known | fields))

    async def hits(self, words: str, **filters: Any) -> list[Hit]:
        query = SearchQuery(text=words, organization_id=DEFAULT_ORG_ID, owner_ids=[self.agent_id])
        return await self.db.read(self.index.query, replace(query, **filters))

    async def find(self, words: str, **filters: Any) -> list[str]:
        return [hit.document.text for hit in await self.hits(words, **filters)]


@pytest.fixture
async def recall(db: Database) -> Recall:
    recall = Recall(db)
    await recall.add_agent(agent_id=recall.agent_id)
    return recall


async def test_other_forms_of_a_word_are_found(recall: Recall) -> None:
    await recall.say("She runs every morning.")
    await recall.say("Nothing to see here.")
    assert await recall.find("running") == ["She runs every morning."]
    assert await recall.find("mornings") == ["She runs every morning."]


async def test_a_part_of_a_word_is_not_a_match(recall: Recall) -> None:
    await recall.say("The party was loud.")
    assert await recall.find("art") == []
    assert await recall.find("part") == []


async def test_of_several_words_any_is_enough_and_more_are_better(recall: Recall) -> None:
    both = await recall.say("My sister plays the cello.")
    await recall.say("My sister lives in Lyon.")
    await recall.say("The cello is a fine instrument.")
    await recall.say("We had soup for dinner.")
    hits = await recall.hits("cello sister")
    assert len(hits) == 3
    assert hits[0].id == both
    assert hits[0].score > hits[1].score


async def test_hits_come_by_score_with_their_rank(recall: Recall) -> None:
    await recall.say("We drank some tea at noon.")
    for number in range(6):
        await recall.say("Something else.")
        await recall.say(
            f"Talk number {number} about tea, weather and a great many other things of no weight, "
            "the news of the week, who was there and who was not, and how the bus was late again."
        )
    hits = await recall.hits("tea")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits[0].document.text == "We drank some tea at noon."
    assert hits[0].lexical_rank == 1
    assert all(0 < hit.score <= 1 for hit in hits)


async def test_of_equal_hits_the_newer_comes_first(recall: Recall) -> None:
    ids: list[str] = []
    for _ in range(4):
        await recall.say("Something else.")
        ids.append(await recall.say("I had tea again."))
    await recall.say("Something else.")
    assert [hit.id for hit in await recall.hits("tea")] == ids[::-1]


async def test_rare_words_weigh_more_than_frequent_ones(recall: Recall) -> None:
    for number in range(30):
        await recall.say(f"A report on the garden, number {number}.")
    await recall.say("A report on the xylophone.")
    assert (await recall.find("garden xylophone"))[0] == "A report on the xylophone."


async def test_stop_words_do_not_drown_what_is_sought(recall: Recall) -> None:
    await recall.say("What is it that you are and that I am, and what is it to me?")
    await recall.say("Her birthday falls in June.")
    assert await recall.find("what is it about the birthday") == ["Her birthday falls in June."]


async def test_a_query_of_stop_words_alone_still_seeks_them(recall: Recall) -> None:
    await recall.say("Will is my brother.")
    await recall.say("Soup for dinner.")
    assert await recall.find("will") == ["Will is my brother."]


async def test_quoted_words_must_stand_in_a_row(recall: Recall) -> None:
    await recall.say("Green tea is best.")
    await recall.say("The tea was green with envy, green!")
    assert await recall.find('"green tea"') == ["Green tea is best."]
    assert await recall.find('best "green tea" ever') == ["Green tea is best."]
    assert await recall.find("“green tea”") == ["Green tea is best."]


async def test_quoted_words_that_stand_nowhere_in_a_row_are_sought_one_by_one(recall: Recall) -> None:
    await recall.say("Green tea is best.")
    assert await recall.find('"best green tea"') == ["Green tea is best."]


async def test_roles_are_filtered(recall: Recall) -> None:
    await recall.say("I like tea.", "user")
    await recall.say("Tea is nice.", "assistant")
    call = ToolReturn(tool_call_id="c", name="shop", status="success", content=packed("Tea is sold out."))
    await recall.keep(recall.message("", "tool").model_copy(update={"tool_returns": (call,)}))
    assert await recall.find("tea", roles=["user"]) == ["I like tea."]
    assert await recall.find("tea", roles=["assistant"]) == ["Tea is nice."]
    assert await recall.find("tea", roles=["tool"]) == ["Tea is sold out."]
    assert len(await recall.find("tea", roles=["user", "assistant"])) == 2
    assert len(await recall.find("tea")) == 3
    assert await recall.find("tea", roles=[]) == []
    assert await recall.find("tea", roles=["nobody"]) == []


@pytest.mark.parametrize("words", ["tea", ""])
async def test_both_dates_are_included(recall: Recall, words: str) -> None:
    days = [NOON + timedelta(days=day) for day in range(5)]
    for day in days:
        await recall.say(f"Tea on day {day.day}.", created_at=day)
    found = await recall.find(words, start=days[1], end=days[3])
    assert sorted(found) == ["Tea on day 15.", "Tea on day 16.", "Tea on day 17."]
    assert len(await recall.find(words, start=days[1] + timedelta(microseconds=1), end=days[3])) == 2
    assert len(await recall.find(words, start=days[1], end=days[3] - timedelta(microseconds=1))) == 2
    assert await recall.find(words, start=days[4] + timedelta(days=1)) == []


async def test_no_words_lists_the_newest_that_pass_the_filters(recall: Recall) -> None:
    for number in range(5):
        await recall.say(f"Question {number}", "user")
        await recall.say(f"Answer {number}", "assistant")
    assert await recall.find("", limit=2) == ["Answer 4", "Question 4"]
    assert await recall.find("  \n", roles=["user"], limit=2) == ["Question 4", "Question 3"]


async def test_the_newest_are_found_beneath_many_that_say_nothing(recall: Recall) -> None:
    await recall.say("At last.")
    call = ToolCall(id="c", name="shop", arguments="{}")
    silent = [recall.message("", "assistant") for _ in range(250)]
    await recall.keep(*(each.model_copy(update={"content": (), "tool_calls": (call,)}) for each in silent))
    assert await recall.find("", roles=["user", "assistant"]) == ["At last."]


async def test_other_agents_are_never_shown(recall: Recall) -> None:
    other = await recall.add_agent()
    await recall.say("Tea of my own.")
    await recall.say("Tea of another.", agent_id=other)
    assert await recall.find("tea") == ["Tea of my own."]
    assert await recall.find("") == ["Tea of my own."]
    assert await recall.find("tea", owner_ids=[other]) == ["Tea of another."]
    assert len(await recall.find("tea", owner_ids=[other, recall.agent_id])) == 2
    assert len(await recall.find("tea", owner_ids=None)) == 2
    assert await recall.find("tea", owner_ids=[]) == []
    assert await recall.find("", owner_ids=[]) == []


async def test_other_organisations_are_never_shown(recall: Recall) -> None:
    foreign = await recall.db.write(create_organization, "foreign")
    agent_id = await recall.add_agent(foreign)
    await recall.say("Secret tea.", agent_id=agent_id, organization_id=foreign)
    for words in ("tea", "", '"secret tea"'):
        assert await recall.find(words, owner_ids=None) == []
        assert await recall.find(words, owner_ids=[agent_id]) == []
        assert await recall.find(words, organization_id=foreign, owner_ids=[recall.agent_id]) == []
    assert await recall.find("tea", organization_id=foreign, owner_ids=None) == ["Secret tea."]


async def test_the_words_of_a_message_cannot_pass_it_off_as_anothers(recall: Recall) -> None:
    foreign = await recall.db.write(create_organization, "foreign")
    agent_id = await recall.add_agent(foreign)
    bare = [id[-36:].replace("-", "") for id in (DEFAULT_ORG_ID, recall.agent_id)]
    await recall.say(
        f"tea {recall.agent_id} {' '.join(bare)} m{bare[0]}1{bare[1]}0",
        agent_id=agent_id,
        organization_id=foreign,
        name=f"m{bare[0]}1{bare[1]}0",
    )
    assert await recall.find("tea") == []
    assert await recall.find("tea", owner_ids=None) == []


async def test_conversations_are_filtered(recall: Recall) -> None:
    conversation_id = ConversationId(new_id("conv"))
    await recall.say("Tea in the side room.", conversation_id=conversation_id)
    await recall.say("Tea in the hall.")
    for words in ("tea", ""):
        assert await recall.find(words, conversation_id=conversation_id) == ["Tea in the side room."]
        assert await recall.find(words, conversation_id="default") == ["Tea in the hall."]
        assert len(await recall.find(words)) == 2


async def test_excluded_messages_are_passed_over(recall: Recall) -> None:
    question = await recall.say("What tea did I like?")
    await recall.say("I like green tea.")
    for words in ("tea", ""):
        assert await recall.find(words, exclude_ids=frozenset({question}), limit=1) == ["I like green tea."]


async def test_what_is_deleted_is_not_found(recall: Recall) -> None:
    gone = await recall.say("Green tea.")
    await recall.say("Black tea.")

    def remove(connection: Connection) -> None:
        recall.index.delete(connection, [gone])
        connection.execute(delete(MessageRow).where(MessageRow.id == gone))

    await recall.db.write(remove)
    assert await recall.find("tea") == ["Black tea."]
    assert await recall.find("green") == []


async def test_a_forgotten_agent_leaves_nothing_in_the_index(recall: Recall) -> None:
    other = await recall.add_agent()
    await recall.say("Tea that stays.", agent_id=other)
    for _ in range(3):
        await recall.say("Tea that goes.")
    await recall.say("Answer about tea", "assistant", name="Alice")

    def remove(connection: Connection) -> None:
        recall.index.forget(connection, recall.agent_id)
        connection.execute(delete(AgentRow).where(AgentRow.id == recall.agent_id))

    await recall.db.write(remove)
    assert await recall.db.read(count_documents) == 1
    assert await recall.db.read(count_postings, "goes") == 0
    assert await recall.find("tea", owner_ids=None) == ["Tea that stays."]


async def test_messages_that_went_with_their_agent_are_not_shown(recall: Recall) -> None:
    other = await recall.add_agent()
    for number in range(60):
        await recall.say(f"Tea {number}.")
    await recall.say("Tea, a lot of which was drunk by many people at very many tables.", agent_id=other)
    await recall.db.write(
        lambda c: c.execute(delete(AgentRow).where(AgentRow.id == recall.agent_id)) and None
    )
    assert await recall.find("tea") == []
    assert len(await recall.find("tea", owner_ids=None, limit=1)) == 1


async def test_messages_of_an_agent_put_away_and_of_failed_runs_are_not_shown(recall: Recall) -> None:
    failed = await recall.say("Tea that failed.")
    other = await recall.add_agent()
    await recall.say("Tea put away.", agent_id=other)

    def put_away(connection: Connection) -> None:
        connection.execute(update(AgentRow).where(AgentRow.id == other).values(is_deleted=True))
        connection.execute(update(MessageRow).where(MessageRow.id == failed).values(is_err=True))

    await recall.db.write(put_away)
    assert await recall.find("tea", owner_ids=None) == []
    assert await recall.find("", owner_ids=None) == []


async def test_a_message_indexed_anew_is_found_once_and_by_its_new_words(recall: Recall) -> None:
    message = recall.message("I like coffee.")
    await recall.keep(message)

    def change(connection: Connection, words: str) -> None:
        changed = message.model_copy(update={"content": text_parts(words)})
        content = [{"type": "text", "text": words}]
        connection.execute(update(MessageRow).where(MessageRow.id == message.id).values(content=content))
        recall.index.index(connection, message_documents([changed, changed], DEFAULT_ORG_ID))

    await recall.db.write(change, "I like tea.")
    await recall.db.write(change, "I like tea.")
    assert await recall.find("tea") == ["I like tea."]
    assert await recall.find("coffee") == []


async def test_an_index_that_failed_leaves_nothing(recall: Recall) -> None:
    def fail(connection: Connection) -> None:
        message = recall.message("Tea that never was.")
        insert_messages(connection, DEFAULT_ORG_ID, [message])
        recall.index.index(connection, message_documents([message], DEFAULT_ORG_ID))
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        await recall.db.write(fail)
    await recall.say("Tea that was.")
    assert await recall.find("tea") == ["Tea that was."]


@pytest.mark.parametrize(
    ("said", "sought"),
    [
        ("我叫阿里巴巴", "阿里巴巴"),
        ("我叫阿里巴巴", "我叫阿里巴巴"),
        ("我叫阿里巴巴", '"阿里巴巴"'),
        ("我叫阿里巴巴", "叫"),
        ("我叫阿里巴巴", "巴"),
        ("他叫王明，住在上海。", "上海"),
        ("東京でコーヒーを飲みました", "コーヒー"),
        ("저는 서울에서 살고 있습니다", "서울"),
        ("ผมชอบกินข้าวผัด", "ข้าวผัด"),
        ("मुझे हिन्दी पसंद है", "हिन्दी"),
        ("Я люблю чай с лимоном", "ЧАЙ"),
        ("Μου αρέσει το τσάι", "τσαι"),
        ("أحب الشاي الأخضر", "الشاي"),
        ("My iPhone手机 broke", "手机"),
        ("My iPhone手机 broke", "iphone"),
        ("ＦＵＬＬ width", "full"),
    ],
)
async def test_other_scripts_are_found(recall: Recall, said: str, sought: str) -> None:
    await recall.say(said)
    await recall.say("Nothing of the kind. 无关内容。 関係ない話。")
    assert await recall.find(sought) == [said]


async def test_letters_in_another_order_are_another_word(recall: Recall) -> None:
    await recall.say("我叫阿里巴巴")
    assert await recall.find("里阿") == []


@pytest.mark.parametrize(
    ("said", "sought"),
    [
        ("We met at the café in Málaga.", "cafe malaga"),
        ("We met at the cafe in Malaga.", "café"),
        ("Die Straße ist lang.", "strasse"),
        ("Der Zug nach München", "MUNCHEN"),
        ("e\u0301tude in decomposed form", "étude"),
        ("Ask Siobhán O'Brien-Smith", "siobhan o'brien smith"),
        ("see https://example.com/docs/setup?page=2", "setup"),
        ("edit src/remanence/app.py please", "app.py"),
        ("mail jane.doe@example.com", "jane.doe@example.com"),
        ("<b>bold</b> claims", "bold"),
        ("version 3.14 of snake_case_name", "snake 3.14"),
    ],
)
async def test_accents_and_punctuation_do_not_matter(recall: Recall, said: str, sought: str) -> None:
    await recall.say(said)
    assert await recall.find(sought) == [unicodedata.normalize("NFC", said)]


@pytest.mark.parametrize(
    "odd",
    [
        "the of and",
        "?!.,;:",
        '"',
        '""',
        "''",
        '"unclosed tea',
        "tea AND",
        "NOT tea",
        "NEAR(tea, 5)",
        "tea*",
        "^tea",
        "-tea",
        "scope:tea",
        "body : tea",
        "{body} : tea",
        "tea) OR (1=1",
        "tea & | ! <-> :*",
        "'; DROP TABLE messages; --",
        "tea\x00cup",
        "\x00",
        "🎉",
        "👩‍👩‍👧 tea",
        "\ud800 tea",
        "\u200b",
        "½ ² ﷽ ™",
        "tea " * 5_000,
        "x" * 100_000,
        " ".join(f"word{number}" for number in range(2_000)),
        '"' + "tea " * 300 + '"',
        "阿" * 5_000,
        "\\ % _ \\' \\\"",
    ],
)
async def test_odd_queries_are_answered(recall: Recall, odd: str) -> None:
    await recall.say("Some tea for you.")
    assert await recall.find(odd) == (["Some tea for you."] if "tea" in odd else [])


@pytest.mark.parametrize(
    "odd",
    [
        "🎉🎉",
        "tail \ud83d",
        "x" * 100_000,
        "tea " * 50_000,
        "阿里巴巴" * 20_000,
        " ".join(f"{number}阿里{number}" for number in range(30_000)),
        "".join(chr(0x4E00 + number % 20_000) for number in range(MAX_INDEXED_CHARS + 5)),
        "' \" \\ : & | ! ( ) * <-> %s :name ?",
    ],
)
async def test_odd_texts_are_indexed(recall: Recall, odd: str) -> None:
    message = recall.message(odd.encode("utf-8", "ignore").decode())
    spoken = message_documents([message], DEFAULT_ORG_ID)[0]

    def save(connection: Connection) -> None:
        insert_messages(connection, DEFAULT_ORG_ID, [message])
        recall.index.index(connection, [replace(spoken, text=odd), replace(spoken, text=odd + "\x00")])

    await recall.db.write(save)
    assert len(await recall.find("", limit=5)) == 1
    await recall.db.write(recall.index.delete, [message.id])
    assert await recall.find("tea") == []


async def test_ids_that_are_none_find_nothing(recall: Recall) -> None:
    await recall.say("tea")
    assert await recall.find("tea", owner_ids=["nobody"]) == []
    assert await recall.find("tea", conversation_id="nowhere") == []
    assert await recall.find("tea", organization_id="nobody") == []
    assert await recall.find("tea", limit=0) == []


async def test_a_named_speaker_is_found_with_the_words(recall: Recall) -> None:
    await recall.say("I would rather have tea.", name="Zoë")
    await recall.say("I would rather have coffee.", name="Tom")
    assert await recall.find("zoe") == ["I would rather have tea."]


async def test_an_answer_is_found_by_its_question(recall: Recall) -> None:
    await recall.say("Where did you grow up?", "assistant")
    await recall.say("In Lisbon, by the river.")
    await recall.say("Nice. The weather is fine today.", "assistant")
    assert await recall.find("growing up") == ["Where did you grow up?", "In Lisbon, by the river."]
    assert await recall.find("growing up", roles=["user"]) == []


async def test_who_is_named_in_a_question_said_it(recall: Recall) -> None:
    await recall.say("My bike was stolen last night.", name="Tom")
    await recall.say("Something else.", name="Tom")
    await recall.say("A bike would be nice to have now.", name="Zoë")
    await recall.say("Something else.", name="Zoë")
    assert (await recall.find("Zoë bike"))[0] == "A bike would be nice to have now."
    assert (await recall.find("Tom bike"))[0] == "My bike was stolen last night."


async def test_what_was_said_on_the_day_asked_for_comes_first(recall: Recall) -> None:
    then = datetime(2026, 1, 5, 9, tzinfo=UTC)
    await recall.say("The bike is in the shed.", created_at=then)
    await recall.say("Good night.", created_at=then + timedelta(minutes=1))
    await recall.say("The bike is in the hall.")
    for question in ("Where was the bike on 5 January 2026?", "bike 2026-01-05", "Jan 5th bike"):
        assert (await recall.find(question))[0] == "The bike is in the shed."
    found = await recall.find("What did we say on January 5, 2026?")
    assert sorted(found) == ["Good night.", "The bike is in the shed."]
    assert (await recall.find("bike"))[0] == "The bike is in the hall."


async def test_what_is_said_again_and_again_does_not_hide_the_rest(recall: Recall) -> None:
    for _ in range(12):
        await recall.say("Tea?")
    await recall.say("I had green tea from Uji with my sister, and it was the best of the whole year.")
    found = await recall.find("tea", limit=3)
    assert "I had green tea from Uji with my sister, and it was the best of the whole year." in found


async def test_a_question_about_me_is_answered_by_the_user(recall: Recall) -> None:
    await recall.say("The dentist is on Tuesday.")
    await recall.say("Fine.", "assistant")
    await recall.say("The dentist is on Wednesday.", "assistant")
    assert (await recall.find("when is my dentist"))[0] == "The dentist is on Tuesday."
    assert (await recall.find("when did you say the dentist is"))[0] == "The dentist is on Wednesday."


async def test_hits_come_with_what_was_said_beside_them_if_asked(recall: Recall) -> None:
    await recall.say("Where is the key?", "assistant")
    await recall.say("Under the blue pot.")
    await recall.say("Thanks.", "assistant")
    (hit,) = await recall.hits("pot", roles=["user"], shows_neighbours=True)
    assert hit.before is not None
    assert hit.after is not None
    assert (hit.before.text, hit.after.text) == ("Where is the key?", "Thanks.")


async def test_what_agents_say_through_tools_is_found_and_notices_are_not(recall: Recall) -> None:
    said = ToolCall(id="c", name="send_message", arguments='{"message": "Tea is ready.", "thinking": "tea"}')
    spoken = recall.message("", "assistant").model_copy(update={"content": (), "tool_calls": (said,)})
    search = ToolReturn(
        tool_call_id="c", name="conversation_search", status="success", content=packed("Tea found")
    )
    returned = recall.message("", "tool").model_copy(update={"content": (), "tool_returns": (search,)})
    await recall.keep(spoken, returned)
    await recall.say("tea in the prompt", "system")
    await recall.say("tea in a summary", "summary")
    await recall.say(pack_heartbeat("tea", at=NOON, timezone=None))
    await recall.say(pack_alert("tea", at=NOON, timezone=None))
    await recall.say(pack_user_message("Packed tea.", at=NOON, timezone=None))
    assert sorted(await recall.find("tea")) == ["Packed tea.", "Tea is ready."]
    assert sorted(await recall.find("")) == ["Packed tea.", "Tea is ready."]


async def test_a_long_text_is_shown_around_what_was_sought(recall: Recall) -> None:
    filler = "Much was said about many things that day. " * 40
    await recall.say(f"{filler}The cello stood in the attic. {filler}")
    hit = (await recall.hits("cello"))[0]
    assert "The cello stood in the attic." in hit.snippet
    assert len(hit.snippet) < 400


async def test_many_agents_may_be_searched_at_once(recall: Recall) -> None:
    await recall.say("tea")
    others = [new_agent_id() for _ in range(300)]
    assert await recall.find("tea", owner_ids=[*others, recall.agent_id]) == ["tea"]


async def test_a_text_part_and_its_neighbours_are_one_text(recall: Recall) -> None:
    parts = (TextPart(text="Green "), TextPart(text="tea"))
    await recall.keep(recall.message("").model_copy(update={"content": parts}))
    assert await recall.find('"green tea"') == ["Green tea"]


def packed(words: str) -> str:
    return pack_tool_return(words, status="success", at=NOON, timezone=None)


def count_documents(connection: Connection) -> int:
    return connection.execute(text("SELECT count(*) FROM search_documents")).scalar_one()


def count_postings(connection: Connection, word: str) -> int:
    """How many documents the words themselves still name, shown or not."""
    matches = (
        "search_words MATCH :word"
        if connection.dialect.name == "sqlite"
        else "words @@ quote_literal((ts_lexize('search_stem', :word))[1])::tsquery"
    )
    table = "search_words" if connection.dialect.name == "sqlite" else "search_documents"
    return connection.execute(
        text(f"SELECT count(*) FROM {table} WHERE {matches}"), {"word": word}
    ).scalar_one()

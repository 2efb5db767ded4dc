"""How an agent learns what became of its memory without its prompt being rewritten."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import Connection, update
from tests.support.chats import Chat
from tests.support.filling import SUMMARY, filled, full
from tests.support.model_wire import SeenRequest
from tests.support.script import calls, fails, says
from tests.support.talks import Talk

from remanence.agents.repository import bump_window
from remanence.db.tables import MessageRow
from remanence.kit import json
from remanence.kit.json import JsonObject

NOTE = "changed by somebody else"


def shares(journal: list[SeenRequest]) -> list[float]:
    """How much of each prompt its provider had read before, from 0 to 1."""
    prompts = [json.encode([each.tools, each.messages])[:-2] for each in journal]
    return [_common(before, after) / len(before) for before, after in pairwise(prompts)]


def _common(one: bytes, other: bytes) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


def notes(talk: Talk) -> list[str]:
    """That stand in the prompt last sent."""
    texts = [str(message.get("content")) for message in talk.model.last.messages[1:]]
    return [text for text in texts if NOTE in text]


def block_id(agent: JsonObject, label: str = "human") -> str:
    return next(block["id"] for block in agent["blocks"] if block["label"] == label)


def edits_itself(talk: Talk, agent: JsonObject, fact: str) -> None:
    insert = calls("memory_insert", label="human", new_string=fact)
    talk.say(agent, f"Remember: {fact}", insert, says("Noted."))


def is_edited_by_its_route(talk: Talk, agent: JsonObject, fact: str) -> None:
    path = f"/v1/agents/{agent['id']}/core-memory/blocks/human"
    talk.ask("PATCH", path, json={"value": f"{talk.block(agent, 'human')}\n{fact}"})
    talk.say(agent, "Anything new?", says("Yes."))
    assert fact in notes(talk)[-1]


def is_edited_by_the_block_s_route(talk: Talk, agent: JsonObject, fact: str) -> None:
    value = f"{talk.block(agent, 'human')}\n{fact}"
    talk.ask("PATCH", f"/v1/blocks/{block_id(agent)}", json={"value": value})
    talk.say(agent, "Anything new?", says("Yes."))
    assert fact in notes(talk)[-1]


@pytest.mark.promise("window.prefix")
@pytest.mark.parametrize("edit", [edits_itself, is_edited_by_its_route, is_edited_by_the_block_s_route])
def test_memory_is_edited_and_the_prompt_read_before_stays(
    talk: Talk, edit: Callable[[Talk, JsonObject, str], None]
) -> None:
    agent = talk.agent()
    for turn in range(20):
        if turn % 5 == 4:
            edit(talk, agent, f"Fact {turn}: Eve grew {turn} figs.")
        else:
            talk.say(agent, f"This is turn {turn}.", says(f"It is turn {turn}."))
    found = shares(talk.model.journal)
    assert len(found) >= 19
    assert (sum(found) / len(found) >= 0.95, min(found) >= 0.9) == (True, True), found


@pytest.mark.promise("window.notes")
def test_a_change_is_told_once_and_before_what_is_said(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Hi", says("Hello!"))
    talk.ask("PATCH", f"/v1/blocks/{block_id(agent)}", json={"value": "Name: Ada"})
    answer = talk.say(agent, "Who am I?", says("Ada."))
    assert [each["message_type"] for each in answer["messages"]] == ["assistant_message"]
    assert [message["role"] for message in talk.model.last.messages[-2:]] == ["user", "user"]
    assert (
        "human:\nIt now says:\nName: Ada" in json.decode(talk.model.last.messages[-2]["content"])["message"]
    )
    assert talk.model.last.last_user == "Who am I?"
    talk.say(agent, "Sure?", says("Yes."))
    assert len(notes(talk)) == 1
    assert "Name: Eve" in talk.model.last.system
    moments = [each["date"] for each in talk.history(agent)]
    assert moments == sorted(moments)


@pytest.mark.promise("window.notes")
def test_own_edits_need_no_note_and_those_of_another_agent_do(talk: Talk) -> None:
    block = talk.tenant.block("plan", "beds: three")
    one, two = (talk.agent(block_ids=[block["id"]], name=name) for name in ("one", "two"))
    talk.say(one, "Hi", says("Hello!"))
    insert = calls("memory_insert", label="plan", new_string="water: daily")
    talk.say(two, "Water daily", insert, says("Noted."))
    talk.say(two, "And now?", says("Daily."))
    assert notes(talk) == []
    talk.say(one, "And now?", says("Daily."))
    assert "water: daily" in notes(talk)[0]


@pytest.mark.promise("window.notes")
def test_an_edit_in_one_conversation_is_told_in_the_others(talk: Talk) -> None:
    agent = talk.agent()
    one, two = Chat.begin(talk, agent), Chat.begin(talk, agent)
    two.say("Hi", says("Hello!"))
    insert = calls("memory_insert", label="human", new_string="Likes figs.")
    one.say("Figs!", insert, says("Noted."))
    assert notes(talk) == []
    two.say("What do I like?", says("Figs."))
    assert "Likes figs." in notes(talk)[0]


@pytest.mark.promise("window.notes")
def test_of_a_long_block_only_what_changed_is_told(talk: Talk) -> None:
    lines = [f"Line {number} of what is known about Eve." for number in range(40)]
    agent = talk.agent(memory_blocks=[{"label": "human", "value": "\n".join(lines)}])
    talk.say(agent, "Hi", says("Hello!"))
    lines[20] = "Eve has moved to Porto."
    talk.ask("PATCH", f"/v1/blocks/{block_id(agent)}", json={"value": "\n".join(lines), "limit": 9_000})
    talk.say(agent, "Where do I live?", says("Porto."))
    told = json.decode(notes(talk)[0])["message"]
    assert "-Line 20 of what is known about Eve.\n+Eve has moved to Porto." in told
    assert "- chars_limit=9000" in told
    assert "Line 30" not in told


@pytest.mark.promise("window.notes")
def test_a_block_that_is_gone_or_put_back_is_told_too(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Hi", says("Hello!"))
    talk.sdk.blocks.delete(block_id(agent))
    talk.say(agent, "And now?", says("Gone."))
    assert "human: you have this block no longer." in notes(talk)[0]
    talk.ask("POST", f"/v1/blocks/{block_id(agent)}/undo")
    talk.say(agent, "And now?", says("Back."))
    assert "Name: Eve" in notes(talk)[1]


@pytest.mark.promise("window.notes")
def test_a_turn_that_fails_leaves_the_change_to_be_told_by_the_next(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Hi", says("Hello!"))
    talk.ask("PATCH", f"/v1/blocks/{block_id(agent)}", json={"value": "Name: Ada"})
    talk.refuse(agent, 401, fails(401), input="Who am I?")
    talk.say(agent, "Who am I?", says("Ada."))
    assert len(notes(talk)) == 1


@pytest.mark.promise("window.folded")
def test_memory_is_compiled_into_a_prompt_that_nobody_has_read_yet(talk: Talk) -> None:
    agent = talk.agent()
    talk.ask("PATCH", f"/v1/agents/{agent['id']}/core-memory/blocks/human", json={"value": "Name: Ada"})
    assert "Name: Ada" in talk.tenant.system_text(agent["id"])
    talk.ask("PATCH", f"/v1/blocks/{block_id(agent)}", json={"value": "Name: Bea"})
    talk.say(agent, "Who am I?", says("Bea."))
    assert "Name: Bea" in talk.model.last.system
    assert notes(talk) == []


def _make_older(connection: Connection, agent_id: str) -> None:
    older = MessageRow.created_at
    for id, moment in connection.execute(
        MessageRow.__table__.select()
        .with_only_columns(MessageRow.id, older)
        .where(MessageRow.agent_id == agent_id)
    ).all():
        connection.execute(
            update(MessageRow).where(MessageRow.id == id).values(created_at=moment - timedelta(hours=2))
        )
    bump_window(connection, agent_id)


@pytest.mark.promise("window.folded")
def test_memory_is_compiled_into_the_prompt_after_a_long_pause(talk: Talk) -> None:
    agent = talk.agent()
    edits_itself(talk, agent, "Likes figs.")
    talk.say(agent, "Still there?", says("Yes."))
    assert "Likes figs." not in talk.model.last.system
    talk.tenant.house.write(_make_older, agent["id"])
    talk.ask("PATCH", f"/v1/blocks/{block_id(agent, 'persona')}", json={"value": "I am brave."})
    talk.say(agent, "Good morning!", says("Good morning."))
    assert "Likes figs." in talk.model.last.system
    assert "I am brave." in talk.model.last.system
    assert notes(talk) == []
    before = talk.model.last.system
    talk.say(agent, "Still there?", says("Yes."))
    assert talk.model.last.system == before


@pytest.mark.promise("window.folded")
def test_a_change_too_long_for_a_note_is_compiled_into_the_prompt(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Hi", says("Hello!"))
    novel = " ".join(f"chapter {number}" for number in range(500))
    talk.ask("PATCH", f"/v1/blocks/{block_id(agent)}", json={"value": novel})
    talk.say(agent, "And?", says("Long."))
    assert novel in talk.model.last.system
    assert notes(talk) == []


@pytest.mark.promise("window.folded")
def test_making_room_compiles_what_was_told_and_what_was_not(talk: Talk) -> None:
    agent = filled(talk, 3)
    edits_itself(talk, agent, "Likes figs.")
    talk.ask("PATCH", f"/v1/blocks/{block_id(agent, 'persona')}", json={"value": "I am brave."})
    talk.say(agent, "Count them.", full(), SUMMARY)
    talk.say(agent, "And now?", says("Well."))
    assert "Likes figs." in talk.model.last.system
    assert "I am brave." in talk.model.last.system
    talk.say(agent, "And now?", says("Well."))
    assert len(notes(talk)) <= 1


@pytest.mark.promise("window.folded")
def test_an_agent_without_a_buffer_finds_its_own_edits_in_the_prompt(talk: Talk) -> None:
    agent: dict[str, Any] = talk.agent(message_buffer_autoclear=True)
    edits_itself(talk, agent, "Likes figs.")
    talk.say(agent, "What do I like?", says("Figs."))
    assert "Likes figs." in talk.model.last.system
    assert len(talk.model.last.messages) == 2

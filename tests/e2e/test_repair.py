"""Histories that were mangled in the database: mended when they are read, and for good by the repair route."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import Connection, update
from tests.support.api import assert_takes_turns
from tests.support.chats import Chat
from tests.support.script import Gate, calls, says
from tests.support.talks import Talk

from remanence.agents.repository import bump_window
from remanence.core.message import Message
from remanence.db.tables import MessageRow
from remanence.kit.ids import MessageId, new_message_id
from remanence.kit.json import JsonObject
from remanence.messages import repository as messages

NOTE = calls("memory_insert", label="human", new_string="Likes figs.")
WELL = ["system", "user", "assistant", "tool", "assistant", "user", "assistant"]
"""The roles of the history that each test mangles."""


@dataclass(frozen=True)
class History:
    """A window as it was before somebody mangled it: system, user, call, return, answer, user, answer."""

    talk: Talk
    agent: JsonObject
    conversation_id: str | None

    @property
    def lane(self) -> str:
        return self.conversation_id or self.agent["id"]

    @property
    def chat(self) -> Chat:
        return (
            Chat(self.talk, self.conversation_id) if self.conversation_id else Chat.own(self.talk, self.agent)
        )

    def window(self) -> list[Message]:
        return self.talk.tenant.house.read(messages.load_window, self.lane)[0]

    def set_window(self, ids: Sequence[MessageId]) -> None:
        def write(connection: Connection) -> None:
            messages.replace_context(connection, self.lane, ids)
            bump_window(connection, self.lane)

        self.talk.tenant.house.write(write)

    def add(self, message: Message) -> Message:
        """A copy in the database, in no window yet."""
        copied = message.model_copy(update={"id": new_message_id()})
        organization_id = self.talk.tenant.actor.organization_id
        self.talk.tenant.house.write(messages.insert_messages, organization_id, [copied])
        return copied

    def repair(self, **query: object) -> JsonObject:
        where = {"conversation_id": self.conversation_id} if self.conversation_id else {}
        path = f"/v1/agents/{self.agent['id']}/repair"
        return self.talk.ask("POST", path, params={**where, **query})

    def roles(self) -> list[str]:
        return [message.role for message in self.window()]


@pytest.fixture(params=["own", "conversation"])
def history(request: pytest.FixtureRequest, talk: Talk) -> History:
    agent = talk.agent()
    id = Chat.begin(talk, agent).id if request.param == "conversation" else None
    made = History(talk, agent, id)
    made.chat.say("Figs!", NOTE, says("Noted."))
    made.chat.say("Well?", says("Well."))
    assert made.roles() == WELL
    return made


def lose_the_return(history: History) -> str:
    system, user, call, returned, *rest = (message.id for message in history.window())
    history.set_window([system, user, call, *rest])
    assert returned
    return call


def lose_the_call(history: History) -> str:
    system, user, _, returned, *rest = (message.id for message in history.window())
    history.set_window([system, user, returned, *rest])
    return returned


def return_twice(history: History) -> str:
    window = history.window()
    second = history.add(window[3])
    ids = [message.id for message in window]
    history.set_window([*ids[:4], second.id, *ids[4:]])
    return second.id


def return_before_the_call(history: History) -> str:
    system, user, call, returned, *rest = (message.id for message in history.window())
    history.set_window([system, user, returned, call, *rest])
    return returned


def say_nothing(history: History) -> str:
    window = history.window()
    answer = window[-1]
    empty = update(MessageRow).where(MessageRow.id == answer.id).values(content=None)

    def write(connection: Connection) -> None:
        connection.execute(empty)
        bump_window(connection, history.lane)

    history.talk.tenant.house.write(write)
    return answer.id


Mangle = Callable[[History], str]
_CASES: list[tuple[Mangle, str, str, list[str]]] = [
    (lose_the_return, "dangling_call", "return_supplied", WELL),
    (lose_the_call, "orphan_return", "dropped", WELL[:2] + WELL[4:]),
    (return_twice, "duplicate_return", "dropped", WELL),
    (return_before_the_call, "misplaced_return", "moved", WELL),
    (say_nothing, "empty_message", "dropped", WELL[:-1]),
]
MANGLED = pytest.mark.parametrize(
    ("mangle", "problem", "mend", "roles"), _CASES, ids=[case[0].__name__ for case in _CASES]
)


@MANGLED
def test_a_mangled_history_does_not_keep_the_next_message_from_its_answer(
    history: History, mangle: Mangle, problem: str, mend: str, roles: list[str]
) -> None:
    mangle(history)
    assert history.chat.say("Still there?", says("Yes"))["messages"][0]["content"] == "Yes"
    seen = history.talk.model.last
    assert seen.roles == [*roles, "user"]
    assert_takes_turns(seen.messages)
    assert history.chat.say("And now?", says("Too"))["messages"][0]["content"] == "Too"
    assert_takes_turns(history.talk.model.last.messages)


@MANGLED
def test_repair_says_what_it_mended_and_stores_it(
    history: History, mangle: Mangle, problem: str, mend: str, roles: list[str]
) -> None:
    culprit = mangle(history)
    before = history.window()
    tried = history.repair(dry_run=True)
    assert (tried["dry_run"], tried["is_well_formed"]) == (True, False)
    assert [message.id for message in history.window()] == [message.id for message in before]
    report = history.repair()
    assert report["repaired"] == tried["repaired"]
    assert report["is_well_formed"] is False
    assert report["conversation_id"] == history.conversation_id
    (found,) = report["repaired"]
    assert (found["message_id"], found["problem"], found["mend"]) == (culprit, problem, mend)
    assert (found["tool_call_id"] is None) == (problem == "empty_message")
    assert history.roles() == roles
    assert report["in_context_message_ids"] == [message.id for message in history.window()]
    again = history.repair()
    assert (again["is_well_formed"], again["repaired"]) == (True, [])
    history.chat.say("Still there?", says("Yes"))
    assert history.talk.model.last.roles == [*roles, "user"]
    assert_takes_turns(history.talk.model.last.messages)


def test_a_lost_return_becomes_a_message_behind_its_call(history: History) -> None:
    call = lose_the_return(history)
    history.repair()
    _, _, caller, returned, *_ = history.window()
    assert caller.id == call
    assert returned.conversation_id == history.conversation_id
    assert returned.tool_returns[0].status == "error"
    listed = [each["id"] for each in history.chat.messages()]
    assert listed.index(returned.id) == listed.index(call) + 1


def test_a_healthy_history_stays_as_it_is(history: History) -> None:
    before = history.window()
    report = history.repair()
    assert report == {
        "agent_id": history.agent["id"],
        "conversation_id": history.conversation_id,
        "dry_run": False,
        "is_well_formed": True,
        "repaired": [],
        "in_context_message_ids": [message.id for message in before],
    }
    assert history.window() == before


def test_a_history_without_its_system_message_gets_it_back(history: History) -> None:
    history.set_window([message.id for message in history.window()[1:]])
    report = history.repair()
    assert [each["problem"] for each in report["repaired"]] == ["no_system_message"]
    assert history.roles() == WELL


def test_mending_a_conversation_leaves_the_messages_that_a_fork_shares_alone(talk: Talk) -> None:
    agent = talk.agent()
    history = History(talk, agent, Chat.begin(talk, agent).id)
    history.chat.say("Figs!", NOTE, says("Noted."))
    fork = history.chat.fork()
    shared = replace(history, conversation_id=fork.id)
    lose_the_return(shared)
    shared.repair()
    assert history.repair()["is_well_formed"]
    assert "error" not in str(history.chat.texts())
    assert shared.window()[3].id != history.window()[3].id


def test_repair_is_refused_while_a_run_is_at_work(history: History) -> None:
    talk = history.talk
    gate = Gate()
    talk.model.script(says("one two").paused(gate))
    with history.chat.open("Count") as response:
        gate.reached.wait_sync()
        where = {"conversation_id": history.conversation_id or "default"}
        path = f"/v1/agents/{history.agent['id']}/repair"
        refused = talk.http.post(path, params=where)
        tried = talk.http.post(path, params={**where, "dry_run": True})
        gate.open()
        response.read()
    assert (refused.status_code, tried.status_code) == (409, 200)
    assert refused.json()["run_id"].startswith("run-")


def test_only_conversations_of_the_agent_are_repaired(talk: Talk) -> None:
    one, two = talk.agent(), talk.agent()
    chat = Chat.begin(talk, two)
    path = f"/v1/agents/{one['id']}/repair"
    assert talk.http.post(path, params={"conversation_id": chat.id}).status_code == 404
    assert talk.http.post(path, params={"conversation_id": "x"}).status_code == 422
    unknown = "agent-00000000-0000-4000-8000-000000000000"
    assert talk.http.post(f"/v1/agents/{unknown}/repair").status_code == 404

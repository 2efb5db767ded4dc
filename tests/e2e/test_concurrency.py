"""Many sends at once, to one agent and to many, through one server and through two on one database."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

import pytest
from tests.support.api import Api, Body, assert_takes_turns, assert_well_formed, open_api, spoken
from tests.support.databases import Databases
from tests.support.scripted_model import Gate, Line, ScriptedModel, SeenRequest, calls, says
from tests.support.server_process import ServerProcess
from tests.support.waiting import until

SENDS = 50
pytestmark = [pytest.mark.timeout(180), pytest.mark.xdist_group("fleets")]


@dataclass
class Fleet:
    """Servers on one database, with a client for each."""

    apis: list[Api]
    model: ScriptedModel

    def api(self, number: int) -> Api:
        return self.apis[number % len(self.apis)]


@dataclass
class Servers:
    running: list[ServerProcess]
    model: ScriptedModel


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("sqlite", 1), id="sqlite"),
        pytest.param(("sqlite", 2), id="two-on-sqlite"),
        pytest.param(("postgres", 2), id="two-on-postgres", marks=pytest.mark.postgres),
    ],
)
def servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    kind, count = request.param
    databases: Databases = request.getfixturevalue(f"{kind}_databases")
    url = databases.fresh()
    model = ScriptedModel.start_in_thread()
    running = [
        ServerProcess(url, tmp_path_factory.mktemp("server"), model_url=model.base_url) for _ in range(count)
    ]
    try:
        for server in running:
            server.start()
        yield Servers(running, model)
        for server in running:
            assert server.stop() == 0
    finally:
        for server in running:
            server.kill()
        model.stop_thread()


@pytest.fixture
async def fleet(servers: Servers) -> AsyncIterator[Fleet]:
    servers.model.forget()
    servers.model.responder = echo
    async with AsyncExitStack() as stack:
        apis = [await stack.enter_async_context(open_api(each.base_url)) for each in servers.running]
        yield Fleet(apis, servers.model)


def echo(request: SeenRequest) -> Line:
    return says(f"You said {request.last_user}")


def note_and_echo(request: SeenRequest) -> Line:
    """First a note in memory, then the answer."""
    if request.roles[-1] == "user":
        return calls("memory_insert", label="human", new_string=f"<{request.last_user}>")
    return echo(request)


def pairs(history: list[Body]) -> list[tuple[str, str]]:
    """Each user message with what directly follows it, tool calls and their returns passed over."""
    said = [
        message for message in history if message["message_type"] in ("user_message", "assistant_message")
    ]
    assert [message["message_type"] for message in said] == ["user_message", "assistant_message"] * (
        len(said) // 2
    )
    return [(said[at]["content"], said[at + 1]["content"]) for at in range(0, len(said), 2)]


async def check_runs(api: Api, agent: str, count: int) -> list[Body]:
    runs = await api.runs(agent)
    assert [run["status"] for run in runs] == ["completed"] * count
    assert [run["stop_reason"] for run in runs] == ["end_turn"] * count
    return runs


async def test_fifty_sends_to_one_agent_are_answered_one_after_the_other(fleet: Fleet) -> None:
    agent = await fleet.api(0).create_agent()
    texts = [f"number {number}" for number in range(SENDS)]
    answers = await asyncio.gather(*(fleet.api(at).send(agent, text) for at, text in enumerate(texts)))
    assert [spoken(answer["messages"]) for answer in answers] == [f"You said {text}" for text in texts]

    history = await fleet.api(0).history(agent)
    found = pairs(history)
    assert len(history) == 2 * SENDS
    assert sorted(question for question, _ in found) == sorted(texts)
    assert all(answer == f"You said {question}" for question, answer in found)

    runs = await check_runs(fleet.api(0), agent, SENDS)
    text_of_run = {message["run_id"]: message["content"] for message in history[::2]}
    arrived = [text_of_run[run["id"]] for run in runs]
    for server in range(len(fleet.apis)):
        mine = {text for at, text in enumerate(texts) if at % len(fleet.apis) == server}
        assert [text for text, _ in found if text in mine] == [text for text in arrived if text in mine]

    await fleet.api(1).ask(agent, "and after")
    last = fleet.model.last.messages
    assert_takes_turns(last)
    assert [m["content"] for m in last if m["role"] == "user"] == [*(text for text, _ in found), "and after"]


async def test_fifty_sends_with_memory_edits_lose_none_of_them(fleet: Fleet) -> None:
    fleet.model.responder = note_and_echo
    agent = await fleet.api(0).create_agent()
    texts = [f"number {number}" for number in range(SENDS)]
    answers = await asyncio.gather(*(fleet.api(at).ask(agent, text) for at, text in enumerate(texts)))
    assert answers == [f"You said {text}" for text in texts]
    history = await fleet.api(0).history(agent)
    assert_well_formed(history)
    found = pairs(history)
    assert sorted(question for question, _ in found) == sorted(texts)
    assert all(answer == f"You said {question}" for question, answer in found)
    remembered = await fleet.api(1).block(agent, "human")
    assert all(f"<{text}>" in remembered for text in texts)
    await check_runs(fleet.api(0), agent, SENDS)
    for request in fleet.model.journal:
        assert_takes_turns(request.messages)


async def test_fifty_agents_are_spoken_to_at_once(fleet: Fleet) -> None:
    fleet.model.responder = note_and_echo
    agents = [await fleet.api(number).create_agent() for number in range(SENDS)]
    answers = await asyncio.gather(
        *(fleet.api(at).ask(agent, f"I am {agent}") for at, agent in enumerate(agents))
    )
    assert answers == [f"You said I am {agent}" for agent in agents]
    for at, agent in enumerate(agents):
        history = await fleet.api(at + 1).history(agent)
        assert_well_formed(history)
        assert pairs(history) == [(f"I am {agent}", f"You said I am {agent}")]
        await check_runs(fleet.api(at), agent, 1)


async def test_those_who_wait_are_served_in_the_order_of_their_arrival(fleet: Fleet) -> None:
    gate = Gate()
    agent = await fleet.api(0).create_agent()
    fleet.model.responder = lambda seen: echo(seen).held(gate) if seen.last_user == "number 0" else echo(seen)
    texts = [f"number {number}" for number in range(12)]
    sends: list[asyncio.Task[str]] = []
    for number, text in enumerate(texts):
        sends.append(asyncio.create_task(fleet.api(number).ask(agent, text)))
        await until(partial(has_runs, fleet.api(0), agent, number + 1))
    await gate.reached.wait()
    gate.open()
    assert await asyncio.gather(*sends) == [f"You said {text}" for text in texts]
    assert [question for question, _ in pairs(await fleet.api(0).history(agent))] == texts


async def has_runs(api: Api, agent: str, count: int) -> bool:
    return len(await api.runs(agent)) == count


async def test_each_server_sees_what_the_other_has_saved(fleet: Fleet) -> None:
    """Snapshots are kept in memory by each process; none may be believed when it is old."""
    fleet.model.responder = note_and_echo
    agent = await fleet.api(0).create_agent()
    said: list[str] = []
    for turn in range(8):
        said.append(f"turn {turn}")
        await fleet.api(turn // 2).ask(agent, said[-1])
        prompt = fleet.model.last
        assert [message["content"] for message in prompt.messages if message["role"] == "user"] == said
        assert_takes_turns(prompt.messages)
    remembered = await fleet.api(0).block(agent, "human")
    assert all(f"<{text}>" in remembered for text in said)

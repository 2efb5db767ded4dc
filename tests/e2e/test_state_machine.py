"""Random lives of histories beside a mirror that foretells them: sends, streams, answers, cancels, forks, kills.

After each step every history must be what the mirror says, memory must hold what was done, once, and nothing may be
left open. `REMANENCE_HYPOTHESIS=thorough` looks for longer and elsewhere each time.
"""

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import ClassVar, TypeVar

import pytest
from bench.chaos.line import Line, Refused
from bench.chaos.people import look_at_window
from bench.chaos.records import Lane
from bench.chaos.script import PLANS, body_of, is_insertion, marker
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.conftest import BOTH
from tests.support.databases import Databases
from tests.support.mirror import Mirror, is_cut_short, line_of
from tests.support.wire import read_frames
from tests.support.world import World, answer_body, make_agent, nothing_is_open, read_stream, resume_stream

from remanence.kit.json import JsonObject

T = TypeVar("T")
MOST_LANES = 4

_SHARED = settings(
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
    report_multiple_bugs=False,
)
PROFILES = {
    "quick": settings(_SHARED, max_examples=2, stateful_step_count=10, derandomize=True),
    "thorough": settings(_SHARED, max_examples=200, stateful_step_count=30),
}

texts = st.sampled_from([*PLANS, "c", "ci", "ic"])
places = st.integers(0, 1000)
frame_counts = st.integers(1, 6)


class Histories(RuleBasedStateMachine):
    world: ClassVar[World]

    def __init__(self) -> None:
        super().__init__()
        self._world = self.world
        self._count = 0
        self._lanes: list[tuple[Lane, Mirror]] = []
        self._effects: dict[str, list[str]] = {}
        """What was done to memory, by the message that tells it, and by agent in front."""
        self._streams: dict[str, bytes] = {}
        """Of background runs, as they were told first."""
        for is_gated in (False, True):
            agent = self._do(lambda line, gated=is_gated: make_agent(line, is_gated=gated))
            self._lanes.append((Lane(agent, is_gated=is_gated), Mirror(is_gated)))

    def _do(self, work: Callable[[Line], Awaitable[T]]) -> T:
        return self._world.run(work(self._world.line))

    def _pick(self, place: int) -> tuple[Lane, Mirror]:
        return self._lanes[place % len(self._lanes)]

    def _text(self, plan: str) -> str:
        self._count += 1
        return f"#{self._count} {plan}".rstrip()

    # -- speaking -------------------------------------------------------------------------------

    @rule(place=places, plan=texts)
    def send(self, place: int, plan: str) -> None:
        lane, mirror = self._pick(place)
        text = self._text(plan)
        foretold = mirror.say(text)
        body = body_of(text) | {"streaming": False}
        if not foretold:
            with pytest.raises(Refused, match="409"):
                self._do(lambda line: line.post(lane.path, body))
            return
        answer = self._do(lambda line: line.post(lane.path, body))
        mirror.add(foretold)
        assert answer["stop_reason"]["stop_reason"] == _reason(foretold)

    @rule(place=places, plan=texts, is_background=st.booleans(), has_tokens=st.booleans())
    def stream(self, place: int, plan: str, is_background: bool, has_tokens: bool) -> None:
        lane, mirror = self._pick(place)
        text = self._text(plan)
        foretold = mirror.say(text)
        options = {"background": is_background, "stream_tokens": has_tokens}
        whole, _ = self._do(lambda line: read_stream(line, lane, text, options))
        if not foretold:
            assert b"PENDING_APPROVAL" in whole
            return
        mirror.add(foretold)
        frames = read_frames(whole)
        assert [frame.kind for frame in frames[-3:]] == ["stop_reason", "usage_statistics", "[DONE]"]
        assert frames[-3]["stop_reason"] == _reason(foretold)
        if is_background:
            self._streams[frames[0]["run_id"]] = whole

    @rule(place=places, plan=texts, count=frame_counts)
    def drop_a_stream(self, place: int, plan: str, count: int) -> None:
        """The run goes with its reader, and what was said stays, well-formed."""
        lane, mirror = self._pick(place)
        text = self._text(plan)
        foretold = mirror.say(text)
        self._do(lambda line: read_stream(line, lane, text, {"stream_tokens": True}, count))
        self._adopt(lane, mirror, foretold)

    @rule(place=places, plan=texts, count=frame_counts)
    def drop_a_background_stream(self, place: int, plan: str, count: int) -> None:
        """The run goes on, and its stream is taken up where it was left."""
        self._follow(place, plan, count, is_killed=False)

    @precondition(lambda self: bool(self._streams))
    @rule(place=places, after=places)
    def resume(self, place: int, after: int) -> None:
        run_id, whole = list(self._streams.items())[place % len(self._streams)]
        frames = [frame + b"\n\n" for frame in whole.split(b"\n\n")[:-1]]
        number = after % (len(frames) + 1)
        assert self._do(lambda line: resume_stream(line, run_id, number)) == b"".join(frames[number:])

    # -- answering and taking back --------------------------------------------------------------

    @rule(place=places, approves=st.booleans(), is_async=st.booleans(), is_killed=st.booleans())
    def answer(self, place: int, approves: bool, is_async: bool, is_killed: bool) -> None:
        lane, mirror = self._pick(place)
        if not mirror.waits:
            return
        foretold = mirror.answer(approves=approves)
        body = answer_body(
            mirror.window[-1].split(" ")[1].split(","), lane, approves=approves, text=_said(mirror)
        )

        async def give(line: Line) -> None:
            if is_async and lane.conversation is None:
                await line.post(f"{lane.path}/async", body)
                if is_killed:
                    await self._world.die_and_rise()
            else:
                await line.post(lane.path, body | {"streaming": False})

        self._do(give)
        mirror.add(foretold)

    @rule(place=places)
    def cancel(self, place: int) -> None:
        lane, mirror = self._pick(place)
        path = f"/conversations/{lane.id}/cancel" if lane.conversation else f"{lane.path}/cancel"
        if mirror.waits:
            self._do(lambda line: line.post(path))
            mirror.add(mirror.withdraw())
            return
        with pytest.raises(Refused, match="409"):
            self._do(lambda line: line.post(path))

    # -- histories ------------------------------------------------------------------------------

    @rule(place=places, message=st.none() | places)
    def fork(self, place: int, message: int | None) -> None:
        lane, mirror = self._pick(place)
        if len(self._lanes) >= MOST_LANES:
            return
        query = {"agent_id": lane.agent}
        branch = mirror.fork()
        if message is not None and mirror.window:
            at = message % len(mirror.window)
            if mirror.window[at] == "response":
                return
            query["message_id"] = self._window(lane)[at]
            branch.rewind(at)
        name = lane.conversation or "default"
        made = self._do(lambda line: line.post(f"/conversations/{name}/fork", {}, **query))
        branch.listed = list(branch.window)
        self._lanes.append((Lane(lane.agent, made["id"], lane.is_gated), branch))

    @rule(place=places, message=places)
    def rewind(self, place: int, message: int) -> None:
        lane, mirror = self._pick(place)
        if not mirror.window:
            return
        at = message % len(mirror.window)
        if mirror.window[at] == "response":
            return
        target = {"message_id": self._window(lane)[at]}
        name = lane.conversation or "default"
        self._do(lambda line: line.post(f"/conversations/{name}/rewind", target, agent_id=lane.agent))
        mirror.rewind(at)

    @rule(place=places)
    def delete(self, place: int) -> None:
        lane, mirror = self._pick(place)
        if lane.conversation is None:
            return
        self._do(lambda line: line.delete(f"/conversations/{lane.id}"))
        self._lanes.remove((lane, mirror))
        with pytest.raises(Refused, match="404"):
            self._do(lambda line: line.get(f"/conversations/{lane.id}"))

    # -- dying ----------------------------------------------------------------------------------

    @rule()
    def kill(self) -> None:
        self._world.run(self._world.die_and_rise())

    @rule(place=places, plan=texts, count=frame_counts)
    def kill_in_the_background(self, place: int, plan: str, count: int) -> None:
        """Another process carries the run on, as if nothing had been."""
        self._follow(place, plan, count, is_killed=True)

    @rule(place=places, plan=texts, count=frame_counts)
    def kill_in_the_foreground(self, place: int, plan: str, count: int) -> None:
        """What was saved stands; there is nobody left to go on for."""
        lane, mirror = self._pick(place)
        text = self._text(plan)
        foretold = mirror.say(text)
        self._do(
            lambda line: read_stream(
                line, lane, text, {"stream_tokens": True}, count, self._world.die_and_rise
            )
        )
        self._adopt(lane, mirror, foretold)

    def _follow(self, place: int, plan: str, count: int, *, is_killed: bool) -> None:
        lane, mirror = self._pick(place)
        text = self._text(plan)
        foretold = mirror.say(text)
        then = self._world.die_and_rise if is_killed else None
        options = {"stream_tokens": True, "background": True}
        read, number = self._do(lambda line: read_stream(line, lane, text, options, count, then))
        run_id = read_frames(read)[0]["run_id"]
        whole = read + self._do(lambda line: resume_stream(line, run_id, number))
        assert whole.endswith(b"data: [DONE]\n\n")
        if foretold:
            self._streams[run_id] = whole
            mirror.add(foretold)
            assert f'"stop_reason":"{_reason(foretold)}"'.encode() in whole

    def _adopt(self, lane: Lane, mirror: Mirror, foretold: list[str]) -> None:
        """Takes over how far a run came that was cut short."""
        self._do(nothing_is_open)
        actual = [line for _, line in self._listing(lane)][len(mirror.listed) :]
        note(f"cut short: {actual} of {foretold}")
        assert is_cut_short(actual, foretold), f"{actual} is no beginning of {foretold}"
        mirror.add(actual)

    # -- what always holds ----------------------------------------------------------------------

    @invariant()
    def everything_is_as_foretold(self) -> None:
        self._do(nothing_is_open)
        for lane, mirror in self._lanes:
            listing = self._listing(lane)
            assert [line for _, line in listing] == mirror.listed
            by_id = dict(listing)
            found = self._do(lambda line, lane=lane: look_at_window(line, lane))
            assert found["is_well_formed"], found
            assert [by_id[id] for id in found["in_context_message_ids"][1:]] == mirror.window

    @invariant()
    def memory_holds_what_was_done_once(self) -> None:
        for agent in {lane.agent for lane, _ in self._lanes}:
            block = self._do(lambda line, agent=agent: line.get(f"/agents/{agent}/core-memory/blocks/human"))
            there = Counter(part for part in block["value"].split("\n") if part.startswith("<"))
            done = [parts[1:] for parts in self._effects.values() if parts[0] == agent]
            assert there == Counter(each for parts in done for each in parts)

    def _listing(self, lane: Lane) -> list[tuple[str, str]]:
        page: list[JsonObject] = self._do(
            lambda line: line.get(lane.path, limit=500, order="asc", **lane.query)
        )
        shown = [message for message in page if message["message_type"] != "system_message"]
        for message in shown:
            if message["message_type"] == "tool_return_message":
                done = [
                    each["tool_call_id"] for each in message["tool_returns"] if each["status"] == "success"
                ]
                marks = [marker(call_id) for call_id in done if is_insertion(call_id)]
                self._effects[message["id"]] = [lane.agent, *marks]
        return [(message["id"], line_of(message)) for message in shown]

    def _window(self, lane: Lane) -> list[str]:
        """The ids in context, behind the system message."""
        return self._do(lambda line: look_at_window(line, lane))["in_context_message_ids"][1:]


def _reason(foretold: list[str]) -> str:
    return "requires_approval" if foretold[-1].startswith("request ") else "end_turn"


def _said(mirror: Mirror) -> str:
    return next(line for line in reversed(mirror.window) if line.startswith("user ")).removeprefix("user ")


@pytest.fixture(params=BOTH)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    databases: Databases = request.getfixturevalue(f"{request.param}_databases")
    found = World(databases, tmp_path)
    yield found
    found.close()


@pytest.mark.timeout(0)
@pytest.mark.promise("lasting.any-order")
def test_histories_are_as_foretold_whatever_happens_to_them(world: World) -> None:
    chosen = PROFILES[os.environ.get("REMANENCE_HYPOTHESIS", "quick")]
    Histories.world = world
    run_state_machine_as_test(Histories, settings=chosen)

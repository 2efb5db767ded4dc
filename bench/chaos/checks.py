"""The promises, held against what a server shows after a crash (design, invariants 1 to 7)."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.support.api import assert_takes_turns
from tests.support.receiver import Receiver
from tests.support.scripted_model import ScriptedModel
from tests.support.wire import Frame, read_frames

from bench.chaos.line import Line, Refused
from bench.chaos.people import look_at_window, open_request
from bench.chaos.records import Body, Broken, House, Lane, Said
from bench.chaos.script import body_of, is_insertion, marker, steps_of, words_for
from remanence.core.packing import is_notice
from remanence.kit import json
from remanence.kit.ids import MessageId, id_before

WITHIN_S = 30
"""How long the work of a dead process may stay open."""
_PAGE = 200
AT_ONCE_S = 10
"""Less than a lease lasts, and enough for a busy machine."""


@dataclass
class Turn:
    """What a history holds of one thing said."""

    text: str
    returned: list[str] = field(default_factory=list[str])
    """The calls that have their returns, in order."""
    worked: set[str] = field(default_factory=set[str])
    waits: bool = False
    words: str | None = None


def read_turns(history: list[Body], *, was_rewound: bool, may_repeat: bool) -> list[Turn]:
    """Raises Broken where a call has not exactly one return, behind it and in order.

    Only what was rewound may lack it: that stays in the list, though no longer in the context. `may_repeat`: an
    answer to a request, given twice, makes the agent speak twice.
    """
    turns: list[Turn] = []
    awaited: list[str] = []
    asked = False
    for message in history:
        kind = message["message_type"]
        if kind == "user_message" and is_notice(message["content"]):
            continue
        if was_rewound and kind == "user_message":
            awaited, asked = [], False
        if kind not in ("tool_call_message", "approval_request_message", "approval_response_message"):
            _expect(not asked, f"{kind} stands behind a request that nobody answered")
            _expect(not awaited or kind == "tool_return_message", f"{awaited} have no returns before {kind}")
        match kind:
            case "user_message":
                turns.append(Turn(message["content"]))
            case "tool_call_message" | "approval_request_message":
                awaited += [call["tool_call_id"] for call in message["tool_calls"]]
                asked = asked or kind == "approval_request_message"
            case "approval_response_message":
                _expect(asked, "an answer that nobody asked for")
                asked = False
            case "tool_return_message":
                returned = [each["tool_call_id"] for each in message["tool_returns"]]
                _expect(sorted(returned) == sorted(awaited), f"{awaited} were called, {returned} returned")
                turns[-1].returned += returned
                turns[-1].worked |= {
                    each["tool_call_id"] for each in message["tool_returns"] if each["status"] == "success"
                }
                awaited = []
            case "assistant_message":
                is_again = turns[-1].words is not None and not may_repeat
                _expect(not is_again, f"{turns[-1].text} was answered twice")
                turns[-1].words = message["content"]
            case _:
                raise Broken(f"{kind} does not belong here")
    _expect(not awaited or asked, f"{awaited} were never answered")
    if asked and turns:
        turns[-1].waits = True
    return turns


def check_turn(turn: Turn) -> None:
    """What is there is what the text asked for, up to where it was cut short."""
    expected = [call_id for step in steps_of(turn.text) for call_id, _ in step]
    _expect(
        turn.returned == expected[: len(turn.returned)],
        f"{turn.text} has the returns {turn.returned} instead of {expected}",
    )
    if turn.words is not None:
        _expect(words_for(turn.text).startswith(turn.words), f"{turn.text} is answered with {turn.words!r}")
        _expect(bool(turn.words), f"{turn.text} is answered with nothing")
        _expect(turn.returned == expected, f"{turn.text} has words before its calls are done")


def is_whole(turn: Turn | None) -> bool:
    return turn is not None and turn.words == words_for(turn.text)


def summary(history: list[Body]) -> str:
    """The end of a history, a line for each message."""
    lines: list[str] = []
    for message in history[-40:]:
        said = (
            message.get("content")
            or message.get("approvals")
            or message.get("tool_returns")
            or message.get("tool_calls")
        )
        lines.append(f"{message['message_type']} {message['id']} {message['run_id']} {said}")
    return "\n".join(lines)


class Checks:
    def __init__(self, house: House, line: Line, model: ScriptedModel, receiver: Receiver) -> None:
        self._house = house
        self._line = line
        self._model = model
        self._receiver = receiver
        self._requests: dict[str, Body | None] = {}
        """What each history waits with."""
        self._worked: dict[str, dict[str, set[str]]] = {}
        """The calls that had an effect, by agent and message: forks share messages, not what follows."""

    async def run(self) -> float:
        """Seconds until nothing was open any more. Raises Broken."""
        for lane in self._house.lanes:
            for plan_id, said in list(lane.plans.items()):
                await self._was_begun(lane, plan_id, said)
        waited_s = await self._nothing_stays_open()
        for lane in list(self._house.lanes):
            if lane.fate != "alive":
                await self._is_gone(lane)
        await self._in_each_lane(self._check_lane)
        await self._memory_is_what_was_done()
        await self._callbacks_came()
        await self._in_each_lane(self._next_message_works)
        self._model.journal.clear()
        return waited_s

    async def _was_begun(self, lane: Lane, plan_id: str, said: list[Said]) -> None:
        """What was to be said later has its runs, in good time, and one each."""
        began = time.monotonic()
        while (runs := await self._runs_of(lane, plan_id, said)) is None:
            _expect(time.monotonic() - began < WITHIN_S, f"{plan_id} was not begun within {WITHIN_S} s")
            await asyncio.sleep(0.02)
        for each in said:
            found = runs.get(each.text, set())
            _expect(len(found) == 1, f"{each.text} of {plan_id} has the runs {found}")
            each.run_id = next(iter(found))
            each.known = "accepted"
            lane.runs[each.run_id] = each
        del lane.plans[plan_id]

    async def _runs_of(self, lane: Lane, plan_id: str, said: list[Said]) -> dict[str, set[str]] | None:
        """The runs in which each text was said; None if it is not begun yet."""
        if plan_id.startswith("schedule-"):
            plan = await self._line.get(f"/agents/{lane.agent}/schedule/{plan_id}")
            is_begun = plan["next_scheduled_time"] is None
            return {said[0].text: {plan["last_run_id"]}} if is_begun else None
        batch = await self._line.get(f"/messages/batches/{plan_id}")
        if batch["completed_at"] is None:
            return None
        _expect(batch["status"] == "completed", f"{plan_id} ended as {batch['status']}")
        kept: list[Body] = (await self._line.get(f"/messages/batches/{plan_id}/messages", limit=1000))[
            "messages"
        ]
        runs: dict[str, set[str]] = {}
        for message in kept:
            if message["role"] == "user" and message["batch_item_id"] is not None:
                runs.setdefault(message["content"][0]["text"], set()).add(message["run_id"])
        return runs

    async def _in_each_lane(self, check: Callable[[Lane], Awaitable[None]]) -> None:
        async def run(lane: Lane) -> None:
            try:
                await check(lane)
            except (AssertionError, Refused, TimeoutError) as error:
                history = summary(await self._history(lane))
                raise Broken(f"{lane.id}: {error!r}\n{lane}\n{history}") from error

        await asyncio.gather(*map(run, self._house.lanes))

    async def _nothing_stays_open(self) -> float:
        began = time.monotonic()
        agents = sorted({lane.agent for lane in self._house.lanes})
        is_first_look = True
        while True:
            is_planned = await self._plans_left(agents)  # before the runs that they become
            open_runs: list[Body] = []
            for agent in agents:
                open_runs += await self._line.get("/runs/", agent_id=agent, active="true", limit=100)
            if not open_runs and not is_planned:
                return time.monotonic() - began
            left = [run["id"] for run in open_runs if not run["background"]]
            _expect(not left, f"{left} are open though their process is dead and nobody carries them on")
            is_late = time.monotonic() - began > WITHIN_S
            _expect(not is_late, f"still open after {WITHIN_S} s: {open_runs}")
            await asyncio.sleep(0.005 if is_first_look else 0.02)
            is_first_look = False

    async def _plans_left(self, agents: list[str]) -> bool:
        """Whether something is yet to be said, also of what nobody heard that it was taken up."""
        if await self._line.get("/jobs/", active="true"):
            return True
        for agent in agents:
            plans = (await self._line.get(f"/agents/{agent}/schedule"))["scheduled_messages"]
            if any(plan["next_scheduled_time"] for plan in plans):
                return True
        return False

    async def _is_gone(self, lane: Lane) -> None:
        try:
            await self._line.get(f"/conversations/{lane.id}")
        except Refused as refusal:
            _expect(refusal.status == 404, f"{lane.id}: {refusal}")
            self._house.lanes.remove(lane)
            self._house.lost_numbers |= {text.split(" ")[0] for text in (*lane.said, *lane.inherited)}
        else:
            _expect(lane.fate == "doomed", f"{lane.id} was deleted and is there")
            lane.fate = "alive"
            lane.was_cancelled = True  # a delete begins with that

    async def _check_lane(self, lane: Lane) -> None:
        history = await self._history(lane)
        turns = read_turns(history, was_rewound=lane.was_rewound, may_repeat=lane.gave_answers)
        for turn in turns:
            check_turn(turn)
        self._note_effects(lane, history)
        _expect(len({turn.text for turn in turns}) == len(turns), "something was said twice")
        texts = {turn.text: turn for turn in turns}
        unheard = set(texts) - set(lane.said) - lane.inherited
        _expect(not unheard, f"nobody said {unheard}")
        for said in lane.said.values():
            self._check_said(lane, said, texts.get(said.text))
        found = await look_at_window(self._line, lane)
        _expect(found["is_well_formed"], f"the window is broken: {found['repaired']}")
        request = self._requests[lane.id] = await open_request(self._line, lane)
        _expect(
            request is None or request["id"] not in lane.answered_requests,
            "a request waits though it was answered",
        )
        for run_id, said in list(lane.runs.items()):
            await self._check_run(lane, run_id, said, texts)

    async def _history(self, lane: Lane) -> list[Body]:
        found: list[Body] = []
        after: dict[str, str] = {}
        while True:
            query = {"limit": _PAGE, "order": "asc", **lane.query, **after}
            page: list[Body] = await self._line.get(lane.path, **query)
            found += page
            if len(page) < _PAGE:
                return [message for message in found if message["message_type"] != "system_message"]
            after = {"after": page[-1]["id"]}

    def _note_effects(self, lane: Lane, history: list[Body]) -> None:
        for message in history:
            if message["message_type"] == "tool_return_message":
                done = [
                    each["tool_call_id"] for each in message["tool_returns"] if each["status"] == "success"
                ]
                worked = {marker(call_id) for call_id in done if is_insertion(call_id)}
                self._worked.setdefault(lane.agent, {})[message["id"]] = worked

    def _check_said(self, lane: Lane, said: Said, turn: Turn | None) -> None:
        match said.known:
            case "answered":
                _expect(is_whole(turn), f"{said.text} was answered, and is kept as {turn}")
            case "refused":
                _expect(turn is None, f"{said.text} was refused, and is kept as {turn}")
            case "asked":
                _expect(turn is not None, f"{said.text} had got an answer that asks back, and is not kept")
            case "accepted" | "unknown":
                pass

    async def _check_run(self, lane: Lane, run_id: str, said: Said, texts: dict[str, Turn]) -> None:
        run = await self._line.get(f"/runs/{run_id}")
        error = str((run["metadata"] or {}).get("error", ""))
        match run["status"], run["stop_reason"]:
            case "completed", "end_turn":
                if said.text:
                    _expect(is_whole(texts.get(said.text)), f"{run_id} is done, but {said.text} is not")
                    said.known = "answered"
            case "completed", "requires_approval":
                if said.text:
                    _expect(said.text in texts, f"{run_id} asks back, but {said.text} is not kept")
                    said.known = "asked"
            case "cancelled", "cancelled":
                _expect(lane.was_cancelled, f"{run_id} was cancelled, but by nobody")
                said.known = "unknown"
            case "failed", _ if "PENDING_APPROVAL" in error or (
                not said.text and "INVALID_ARGUMENT" in error
            ):
                said.known = "refused"
            case other:
                raise Broken(f"{run_id} of {said.text!r} ended as {other}: {error}")
        stream = b"".join(
            [frame async for frame in self._line.stream(f"/runs/{run_id}/stream", {"starting_after": 0})]
        )
        _expect(
            stream.startswith(said.frames),
            f"{run_id} tells its story otherwise: {said.frames!r} was read first, and now {stream!r}",
        )
        kept = await self._line.get(f"/runs/{run_id}/messages", limit=1000)
        check_stream(read_frames(stream), _until_asked(kept))
        if not said.has_callback:
            del lane.runs[run_id]

    async def _memory_is_what_was_done(self) -> None:
        for agent, by_message in self._worked.items():
            block = await self._line.get(f"/agents/{agent}/core-memory/blocks/human")
            there = Counter(each for each in block["value"].split("\n") if each.startswith("<"))
            told = Counter(each for worked in by_message.values() for each in worked)
            _expect(not (lost := told - there), f"{agent}: {lost} are told as done, and are not")
            extra = [each for each in there - told if _number(each) not in self._house.lost_numbers]
            _expect(not extra, f"{agent}: {extra} were done and are not told")

    async def _callbacks_came(self) -> None:
        due = {run_id: lane for lane in self._house.lanes for run_id in lane.runs}
        deadline = time.monotonic() + AT_ONCE_S
        while due:
            for received in list(self._receiver.received):
                body = json.decode(received.body)
                if (lane := due.pop(body["run_id"], None)) is not None:
                    _expect(body["status"] not in ("created", "running"), f"called back too early: {body}")
                    del lane.runs[body["run_id"]]
            _expect(time.monotonic() < deadline or not due, f"nobody called back for {list(due)}")
            if due:
                await asyncio.sleep(0.01)

    async def _next_message_works(self, lane: Lane) -> None:
        """At once, with a prompt that any provider would take. A request that waits is taken back first."""
        said = Said(f"#{self._house.next_number()}")
        lane.said[said.text] = said
        body: Body = body_of(said.text) | {"streaming": False}
        if self._requests[lane.id] is not None:
            try:
                await self._line.post(lane.path, body)
            except Refused as refusal:
                _expect(refusal.body["detail"]["code"] == "PENDING_APPROVAL", f"{lane.id}: {refusal}")
            else:
                raise Broken(f"{lane.id} took a message though it waits for an answer")
            lane.was_cancelled = True
            path = f"/conversations/{lane.id}/cancel" if lane.conversation else f"{lane.path}/cancel"
            await self._line.post(path)
        async with asyncio.timeout(AT_ONCE_S):
            answer = await self._line.post(lane.path, body)
        words = [m["content"] for m in answer["messages"] if m["message_type"] == "assistant_message"]
        _expect(words == [words_for(said.text)], f"{lane.id} answers {said.text} with {words}")
        said.known = "answered"
        prompt = next(seen for seen in reversed(self._model.journal) if seen.last_user == said.text)
        assert_takes_turns(prompt.messages)
        shown = [message["content"] for message in prompt.messages if message["role"] == "user"]
        shown = [text for text in shown if not is_notice(text)]
        _expect(len(shown) == len(set(shown)), f"{lane.id} shows the model something twice: {shown}")
        if not lane.was_rewound and not lane.inherited:
            kept = [
                turn.text
                for turn in read_turns(
                    await self._history(lane), was_rewound=False, may_repeat=lane.gave_answers
                )
            ]
            _expect(shown == kept, f"{lane.id} shows the model {shown}, but keeps {kept}")


def check_stream(frames: list[Frame], kept: list[Body]) -> None:
    """It ends as streams do, its numbers have no gap, and it tells all that its run has kept."""
    _expect(frames[-1].kind == "[DONE]", f"the stream ends with {frames[-1].kind}")
    _expect(frames[-3].kind == "stop_reason", f"the stream ends with {[f.kind for f in frames[-3:]]}")
    for place, frame in enumerate(frames, 1):
        if isinstance(frame.data, dict) and frame.data.get("seq_id") is not None:
            _expect(frame["seq_id"] == place, f"frame {place} has the number {frame['seq_id']}")
    told = _told([frame.fields for frame in frames[:-3]])
    for (message, part), whole in _told(kept).items():
        # A call that was about to ask, and was cancelled just then, was told as the request that it no longer is.
        heard = told.get((message, part)) or told.get((id_before(MessageId(message)), part))
        _expect(heard == whole, f"kept as {whole!r}, but told as {heard!r}")


def _until_asked(kept: list[Body]) -> list[Body]:
    """A request that was taken back has its returns in the run that asked, but after its end."""
    places = [n for n, body in enumerate(kept, 1) if body["message_type"] == "approval_request_message"]
    return kept[: places[-1]] if places else kept


def _told(bodies: list[Body]) -> dict[tuple[str, str], str]:
    """What was said by the parts of messages, each put together."""
    parts: dict[tuple[str, str], str] = {}
    for body in bodies:
        match body["message_type"]:
            case "assistant_message":
                _add(parts, body["id"], "words", body["content"])
            case "tool_call_message" | "approval_request_message":
                given = body["tool_calls"]
                for call in given if isinstance(given, list) else [given]:
                    _add(parts, body["id"], call["tool_call_id"], call.get("name") or "")
                    _add(parts, body["id"], call["tool_call_id"], call.get("arguments") or "")
            case "tool_return_message":
                for each in body["tool_returns"]:
                    _add(parts, body["id"], each["tool_call_id"], each["status"])
            case _:
                pass
    return parts


def _add(parts: dict[tuple[str, str], str], message: str, part: str, text: str) -> None:
    parts[message, part] = parts.get((message, part), "") + text


def _number(marker: str) -> str:
    return f"#{marker.split('-')[1]}"


def _expect(holds: bool, complaint: str) -> None:
    if not holds:
        raise Broken(complaint)

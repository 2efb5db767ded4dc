"""The clients of a campaign: each does one thing after the other, and notes what it was told.

What a client must not be told is a broken promise as well: an answer to something else, a stream that
ends without its end, a refusal without a reason.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random

from tests.support.wire import Frame, read_frames

from bench.chaos.line import Line, Refused
from bench.chaos.records import Body, Broken, House, Lane, Said
from bench.chaos.script import CLIENT_PLANS, PLANS, SENSOR, body_of, words_for

_MOST_LANES = 8
Act = Callable[[], Awaitable[None]]


class Person:
    def __init__(
        self,
        house: House,
        lane: Lane,
        line: Line,
        chance: Random,
        *,
        callback_url: str | None = None,
        only_speaks: bool = False,
    ) -> None:
        self._house = house
        self._lane = lane
        self._line = line
        self._chance = chance
        self._callback_url = callback_url
        self._acts: list[tuple[Act, int]] = [(self.ask, 4), (self.stream, 3)]
        if not only_speaks:
            self._acts += [
                (self.start_in_background, 3),
                (self.follow_in_background, 4),
                (self.settle, 3 if lane.is_gated else 1),
                (self.cancel, 1),
                (self.send_again, 1),
                (self.fork, 1),
                (self.rewind, 1),
            ]
            self._acts += (
                [(self.delete, 1)]
                if lane.conversation
                else [(self.converse, 1), (self.plan, 2), (self.send_batch, 1)]
            )

    async def live(self) -> None:
        """Until its history is gone, or the server is."""
        acts, weights = zip(*self._acts, strict=True)
        while self._lane.fate == "alive":
            (act,) = self._chance.choices(acts, weights)
            try:
                await act()
            except Refused as refusal:
                await self._take_refusal(refusal)
            await asyncio.sleep(0)

    async def _take_refusal(self, refusal: Refused) -> None:
        detail = refusal.body.get("detail") if isinstance(refusal.body, dict) else None
        code = detail.get("code") if isinstance(detail, dict) else None
        if code == "PENDING_APPROVAL":
            await self.settle()
        elif refusal.status != 409 and "is not in the history" not in str(detail):  # nobody has heard it yet
            raise Broken(f"refused: {refusal}") from refusal

    # -- speaking -------------------------------------------------------------------------------

    async def ask(self) -> None:
        said = self._say()
        try:
            answer = await self._line.post(self._lane.path, body_of(said.text) | {"streaming": False})
        except Refused:
            said.known = "refused"
            raise
        spoken = "".join(
            each["content"] for each in answer["messages"] if each["message_type"] == "assistant_message"
        )
        self._note_end(said, answer["stop_reason"]["stop_reason"], spoken)

    async def stream(self) -> None:
        said = self._say()
        await self._read(said, {"stream_tokens": self._chance.random() < 0.7, "include_pings": True})

    async def start_in_background(self) -> None:
        if self._lane.conversation is not None:
            return await self.follow_in_background()
        said = self._say()
        options: Body = {"stream_tokens": self._chance.random() < 0.7}
        if self._callback_url is not None and self._chance.random() < 0.5:
            options["callback_url"] = self._callback_url
            said.has_callback = True
        run = await self._line.post(f"{self._lane.path}/async", body_of(said.text) | options)
        self._note_run(said, run["id"])
        return None

    async def follow_in_background(self) -> None:
        said = self._say()
        options = {"background": True, "stream_tokens": self._chance.random() < 0.7}
        await self._read(said, options)
        if said.run_id is not None and said.known == "accepted":
            await self._resume(said)

    async def _read(self, said: Said, options: Body) -> None:
        """Reads a stream to its end, or leaves early."""
        leaves_after = self._chance.choice((1, 2, 3, 5, 8)) if self._chance.random() < 0.3 else None
        path = self._lane.path + ("" if self._lane.conversation else "/stream")
        body = body_of(said.text) | options
        if self._lane.conversation is not None:
            body["streaming"] = True
        read = b""
        count = 0
        try:
            async for frame in self._line.stream(path, body):
                read += frame
                count += 1
                if options.get("background"):
                    said.frames = read
                    if count == 1:
                        self._note_run(said, read_frames(frame)[0]["run_id"])
                if count == leaves_after:
                    return
        except Refused:
            said.known = "refused"
            raise
        self._note_stream(said, read)

    async def _resume(self, said: Said) -> None:
        count = said.frames.count(b"\n\n")
        async for frame in self._line.stream(f"/runs/{said.run_id}/stream", {"starting_after": count}):
            said.frames += frame
        self._note_stream(said, said.frames)

    def _note_stream(self, said: Said, stream: bytes) -> None:
        if not stream.endswith(b"data: [DONE]\n\n"):
            raise Broken(f"the stream of {said.text} ends with {stream[-200:]!r}")
        frames = read_frames(stream)
        stop = next(frame for frame in frames if frame.kind == "stop_reason")["stop_reason"]
        errors = [frame for frame in frames if frame.kind == "error_message"]
        if errors and "PENDING_APPROVAL" in errors[0]["detail"]:
            said.known = "refused"
            self._lane.runs.pop(said.run_id or "", None)
        elif errors:
            raise Broken(f"the stream of {said.text} failed: {errors[0].data}")
        else:
            self._note_end(said, stop, _spoken(frames))

    def _note_end(self, said: Said, stop_reason: str, spoken: str) -> None:
        match stop_reason:
            case "end_turn":
                # A stream that lived through a crash may hold the beginning of words that were never saved.
                if not spoken.endswith(words_for(said.text)) or not (
                    said.run_id or spoken == words_for(said.text)
                ):
                    raise Broken(f"{said.text} was answered with {spoken!r}")
                said.known = "answered"
            case "requires_approval":
                said.known = "asked"
            case "cancelled" if self._lane.was_cancelled:
                self._lane.runs.pop(said.run_id or "", None)
            case _:
                raise Broken(f"{said.text} ended with {stop_reason}")

    def _note_run(self, said: Said, run_id: str) -> None:
        said.run_id = run_id
        said.known = "accepted"
        self._lane.runs[run_id] = said

    async def plan(self) -> None:
        """Has it said in a moment, by nobody in particular."""
        said = self._say(only_simple=True)
        said.was_planned = True
        at = (time.time() + self._chance.choice((0, 0.05, 0.3))) * 1000
        body = body_of(said.text) | {"schedule": {"type": "one-time", "scheduled_at": at}}
        made = await self._line.post(f"/agents/{self._lane.agent}/schedule", body)
        self._lane.plans[made["id"]] = [said]

    async def send_batch(self) -> None:
        said = [self._say(only_simple=True) for _ in range(3)]
        requests = [body_of(each.text) | {"agent_id": self._lane.agent} for each in said]
        made = await self._line.post("/messages/batches", {"requests": requests})
        self._lane.plans[made["id"]] = said

    # -- answering and taking back --------------------------------------------------------------

    async def settle(self) -> None:
        """Answers what the agent waits with, if it does, or cancels it."""
        request = await open_request(self._line, self._lane)
        if request is None:
            return None
        if self._chance.random() < 0.2:
            return await self.cancel()
        approves = self._chance.random() < 0.7
        items = [_answer_item(call, approves) for call in request["tool_calls"]]
        answer: Body = {"type": "approval", "approvals": items}
        body = {"messages": [answer], "client_tools": [SENSOR]}
        self._lane.gave_answers = True
        with suppress(Refused):  # another answer was quicker
            if self._lane.conversation is None and self._chance.random() < 0.4:
                run = await self._line.post(f"{self._lane.path}/async", body)
                self._lane.runs[run["id"]] = Said("", "accepted", run["id"])
            else:
                answer = await self._line.post(self._lane.path, body | {"streaming": False})
                if answer["stop_reason"]["stop_reason"] != "cancelled":
                    self._lane.answered_requests.add(request["id"])
        return None

    async def cancel(self) -> None:
        self._lane.was_cancelled = True
        path = (
            f"{self._lane.path}/cancel"
            if self._lane.conversation is None
            else f"/conversations/{self._lane.id}/cancel"
        )
        with suppress(Refused):
            await self._line.post(path)

    async def send_again(self) -> None:
        """As a client does that did not hear the answer: it is the same one."""
        known = [
            said for said in self._lane.said.values() if said.known == "answered" and not said.was_planned
        ]
        if known:
            said = self._chance.choice(known)
            answer = await self._line.post(self._lane.path, body_of(said.text) | {"streaming": False})
            words = [m["content"] for m in answer["messages"] if m["message_type"] == "assistant_message"]
            if words != [words_for(said.text)]:
                raise Broken(f"{said.text}, sent again, was answered with {words}")

    # -- histories ------------------------------------------------------------------------------

    async def converse(self) -> None:
        made = await self._line.post("/conversations/", {}, agent_id=self._lane.agent)
        self._move_in(Lane(self._lane.agent, made["id"], is_gated=self._lane.is_gated))

    async def fork(self) -> None:
        query = {"agent_id": self._lane.agent} | await self._some_message()
        made = await self._line.post(f"/conversations/{self._name}/fork", {}, **query)
        inherited = set(self._lane.said) | self._lane.inherited
        source = self._lane
        self._move_in(
            Lane(
                source.agent,
                made["id"],
                source.is_gated,
                inherited=inherited,
                gave_answers=source.gave_answers,
            )
        )

    async def rewind(self) -> None:
        chosen = await self._some_message()
        if chosen:
            self._lane.was_rewound = True
            with suppress(Refused):  # it has left the window before
                await self._line.post(
                    f"/conversations/{self._name}/rewind", chosen, agent_id=self._lane.agent
                )

    async def delete(self) -> None:
        self._lane.fate = "doomed"
        await self._line.delete(f"/conversations/{self._lane.id}")
        self._lane.fate = "gone"

    async def _some_message(self) -> Body:
        """Not a request: to go back to one opens it again, and then it has two answers."""
        page = await self._line.get(self._lane.path, limit=20, order="desc", **self._lane.query)
        kinds = ("user_message", "tool_return_message", "assistant_message")
        ids = [message["id"] for message in page if message["message_type"] in kinds]
        return {"message_id": self._chance.choice(ids)} if ids and self._chance.random() < 0.7 else {}

    def _move_in(self, lane: Lane) -> None:
        if sum(1 for each in self._house.lanes if each.fate == "alive") < _MOST_LANES:
            self._house.lanes.append(lane)

    @property
    def _name(self) -> str:
        return self._lane.conversation or "default"

    def _say(self, *, only_simple: bool = False) -> Said:
        """`only_simple`: with no tools of the client's."""
        has_tools = not only_simple and self._chance.random() < 0.15
        plan = self._chance.choice(CLIENT_PLANS if has_tools else PLANS)
        said = Said(f"#{self._house.next_number()} {plan}".rstrip())
        self._lane.said[said.text] = said
        return said


async def look_at_window(line: Line, lane: Lane) -> Body:
    """What a repair of this history would find; nothing is changed."""
    name = lane.conversation or "default"
    return await line.post(f"/agents/{lane.agent}/repair", {}, conversation_id=name, dry_run="true")


async def open_request(line: Line, lane: Lane) -> Body | None:
    """What the agent waits with, if it does: the last thing in its context."""
    last_id = (await look_at_window(line, lane))["in_context_message_ids"][-1]
    parts = await line.get(f"/messages/{last_id}")
    return next((part for part in parts if part["message_type"] == "approval_request_message"), None)


def _answer_item(call: Body, approves: bool) -> Body:
    if call["name"] == SENSOR["name"]:
        status = "success" if approves else "error"
        return {"type": "tool", "tool_call_id": call["tool_call_id"], "tool_return": "21", "status": status}
    return {"type": "approval", "tool_call_id": call["tool_call_id"], "approve": approves}


def _spoken(frames: list[Frame]) -> str:
    return "".join(frame["content"] for frame in frames if frame.kind == "assistant_message")

"""How a run is answered over HTTP: one body, a stream, or a promise to be asked about later."""

from collections.abc import AsyncIterator
from typing import Annotated

from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse

from remanence.agents import repository as agents
from remanence.core.actor import Actor
from remanence.core.event import RunFinished
from remanence.db.database import Database
from remanence.edge.responses import JsonBytes
from remanence.kit.ids import RunId
from remanence.messages.frames import Collected, Translator
from remanence.messages.sending import SendRequest
from remanence.runs import repository
from remanence.runs.background import Background
from remanence.runs.plan import AlreadyStarted
from remanence.runs.replay import replay
from remanence.runs.schemas import run_body
from remanence.runs.service import Address, RunService, view_of
from remanence.runs.streaming import stream_frames, stream_replayed

_NO_BUFFERING = {"cache-control": "no-cache", "x-accel-buffering": "no"}


class ResumeRequest(BaseModel):
    starting_after: Annotated[int, Field(ge=0)] = 0
    include_pings: bool | None = True


class Speaker:
    def __init__(self, db: Database, service: RunService, background: Background) -> None:
        self._db = db
        self._service = service
        self._background = background

    async def answer(self, actor: Actor, address: Address, body: SendRequest) -> JsonBytes:
        """Waits for the end. A run that failed is its error; whatever it saved before stands."""
        try:
            sent = await self._service.send(actor, address, body, run_type="send_message")
        except AlreadyStarted as known:
            return await self._answer_again(actor, address, body, known.run_id)
        collected = Collected(sent.view, body.include_return_message_types)
        while collected.finished is None:
            for event in await sent.channel.next_batch():
                collected.add(event)
                if isinstance(event, RunFinished) and event.error is not None:
                    raise event.error
        return JsonBytes(collected.body())

    async def stream(self, actor: Actor, address: Address, body: SendRequest) -> Response:
        try:
            sent = await self._service.send(actor, address, body, run_type="send_message_streaming")
        except AlreadyStarted as known:
            return await self._stream_again(actor, address, body, known.run_id)
        if body.background:
            self._background.keep(actor, sent, body)
            return await self._follow(actor, sent.run.id, after=0, has_pings=body.include_pings)
        frames = stream_frames(
            sent,
            mode="tokens" if body.stream_tokens else "steps",
            wanted_types=body.include_return_message_types,
            has_pings=body.include_pings,
        )
        return event_stream(frames)

    async def start(self, actor: Actor, address: Address, body: SendRequest) -> JsonBytes:
        """The run itself, at once."""
        body = body.model_copy(update={"background": True})
        try:
            sent = await self._service.send(actor, address, body, run_type="send_message_async")
        except AlreadyStarted as known:
            return JsonBytes(run_body(await self._db.read(repository.get_run, actor, known.run_id)))
        self._background.keep(actor, sent, body)
        return JsonBytes(run_body(sent.run))

    async def resume(self, actor: Actor, run_id: str, body: ResumeRequest) -> Response:
        has_pings = body.include_pings is not False
        return await self._follow(actor, run_id, after=body.starting_after, has_pings=has_pings)

    async def _follow(self, actor: Actor, run_id: str, *, after: int, has_pings: bool) -> Response:
        return event_stream(await self._background.follow(actor, run_id, after=after, has_pings=has_pings))

    async def _answer_again(
        self, actor: Actor, address: Address, body: SendRequest, run_id: RunId
    ) -> JsonBytes:
        run = await self._db.read(repository.get_run, actor, run_id)
        agent = await self._db.read(agents.get_agent, actor, address.agent_id)
        collected = Collected(view_of(agent, body, run), body.include_return_message_types)
        for event in await replay(self._db, actor, run_id):
            collected.add(event)
            if isinstance(event, RunFinished) and event.error is not None:
                raise event.error
        return JsonBytes(collected.body())

    async def _stream_again(
        self, actor: Actor, address: Address, body: SendRequest, run_id: RunId
    ) -> Response:
        run = await self._db.read(repository.get_run, actor, run_id)
        if run.background:
            return await self._follow(actor, run_id, after=0, has_pings=body.include_pings)
        agent = await self._db.read(agents.get_agent, actor, address.agent_id)
        translator = Translator(
            run_id, view_of(agent, body, run), mode="steps", wanted_types=body.include_return_message_types
        )
        events = replay(self._db, actor, run_id)
        return event_stream(stream_replayed(run_id, events, translator, has_pings=body.include_pings))


def event_stream(frames: AsyncIterator[bytes]) -> StreamingResponse:
    return StreamingResponse(frames, media_type="text/event-stream", headers=_NO_BUFFERING)

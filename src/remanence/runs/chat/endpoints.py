"""The route of chat completions, answered at once or as a stream."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from fastapi import APIRouter
from sqlalchemy import Connection
from starlette.responses import Response

from remanence.accounts.auth import ActingUser
from remanence.agents import repository as agents
from remanence.agents.conversations.repository import get_conversation
from remanence.agents.queries import AgentQuery
from remanence.core.actor import Actor
from remanence.core.agent import Agent
from remanence.core.approval import gated
from remanence.core.event import Event, RunFinished, StepSaved
from remanence.core.message import Message, ToolCall
from remanence.core.page import Page
from remanence.db.database import Database
from remanence.edge.errors import error_answer
from remanence.edge.responses import JsonBytes
from remanence.edge.routes import make_routes
from remanence.edge.sse import DONE, frame
from remanence.errors import AppError, ApprovalPending, BadArgument, NotFound
from remanence.kit import json
from remanence.kit.ids import is_id
from remanence.kit.json import JsonObject
from remanence.messages.frames import StreamMode, Translator
from remanence.runs.chat.schemas import (
    ChatRequest,
    FinishReason,
    calls_delta,
    chat_error,
    chunk_body,
    completion_body,
    finish_reason,
    usage_chunk,
)
from remanence.runs.service import Address, RunService, Sent
from remanence.runs.speaking import event_stream
from remanence.runs.streaming import PING_S

_PING = b": ping\n\n"
_PREFIX = len("data: ")


def router(db: Database, service: RunService) -> APIRouter:
    routes = make_routes("chat")

    @routes.post("/chat/completions", operation_id="create_chat_completion")
    async def create_completion(actor: ActingUser, body: ChatRequest) -> Response:
        try:
            address, agent = await db.read(_find, actor, body.model)
            run_type = "send_message_streaming" if body.stream else "send_message"
            sent = await service.send(actor, address, body.send_request(), run_type=run_type)
            telling = _Telling(sent, agent, "tokens" if body.stream else "steps")
            if body.stream:
                return event_stream(_stream(telling, body.wants_usage))
            return JsonBytes(await _answer(telling))
        except AppError as error:
            return error_answer(error, chat_error(error))

    return routes


def _find(connection: Connection, actor: Actor, model: str) -> tuple[Address, Agent]:
    """An agent by its id or its name, or a conversation. Raises NotFound and BadArgument."""
    if is_id(model, "conv"):
        conversation = get_conversation(connection, actor, model)
        return Address(conversation.agent_id, conversation), agents.get_agent(
            connection, actor, conversation.agent_id
        )
    if is_id(model, "agent"):
        found = [agents.get_agent(connection, actor, model)]
    else:
        found = agents.list_agents(connection, actor, AgentQuery(name=model), Page(limit=2))
    if not found:
        raise NotFound(f"There is no agent {model!r}: `model` is the id of an agent, or its name.")
    if len(found) > 1:
        raise BadArgument(f"There are several agents named {model!r}: say which by its id, as `model`.")
    return Address(found[0].id), found[0]


@dataclass(slots=True)
class _Telling:
    """What of a run's events an answer in this guise tells."""

    sent: Sent
    agent: Agent
    mode: StreamMode
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    """Those that the client is asked to make."""
    _request: Message | None = None
    _last: str | None = None
    _translator: Translator | None = None

    @property
    def head(self) -> JsonObject:
        run = self.sent.run
        return {
            "id": f"chatcmpl-{run.id}",
            "created": int(run.created_at.timestamp()),
            "model": self.agent.llm_config.model,
            "service_tier": None,
            "system_fingerprint": None,
        }

    def words(self, event: Event) -> str:
        """What the agent says in it. Raises the error of a run that failed."""
        if isinstance(event, RunFinished):
            self._conclude(event)
            return ""
        if isinstance(event, StepSaved):
            asking = [each for each in event.messages if each.role == "approval" and each.tool_calls]
            self._request = asking[-1] if asking else None
        if self._translator is None:
            wanted = ["assistant_message"]
            self._translator = Translator(
                self.sent.run.id, self.sent.view, mode=self.mode, wanted_types=wanted
            )
        pieces: list[str] = []
        for each in self._translator.frames(event):
            body: JsonObject = json.decode(each.numbered(None)[_PREFIX:])
            if self._last not in (None, body["otid"]):
                pieces.append("\n\n")  # what was said before a tool was called, and after
            self._last = body["otid"]
            pieces.append(body["content"])
        return "".join(pieces)

    def _conclude(self, event: RunFinished) -> None:
        if event.error is not None:
            raise event.error
        if event.stop_reason != "requires_approval" or self._request is None:
            return
        self.calls += gated(self._request.tool_calls)
        if any(call.gate != "client" for call in self.calls):
            names = ", ".join(call.name for call in self.calls)
            raise ApprovalPending(
                f"The agent waits for a person to approve its call of {names}; answer with POST …/messages.",
                self._request.id,
            )

    def reason(self, event: RunFinished) -> FinishReason:
        return finish_reason(event.stop_reason, self.calls)


async def _answer(telling: _Telling) -> JsonObject:
    text = ""
    while True:
        for event in await telling.sent.channel.next_batch():
            text += telling.words(event)
            if isinstance(event, RunFinished):
                return completion_body(telling.head, text, telling.reason(event), telling.calls, event.usage)


async def _stream(telling: _Telling, wants_usage: bool) -> AsyncGenerator[bytes]:
    """Chunks until the run is over. A reader that leaves takes the run along."""
    head = telling.head
    speaker: JsonObject = {"role": "assistant"}
    finished: RunFinished | None = None
    try:
        while finished is None:
            try:
                async with asyncio.timeout(PING_S):
                    events = await telling.sent.channel.next_batch()
            except TimeoutError:
                yield _PING
                continue
            finished = next((each for each in events if isinstance(each, RunFinished)), None)
            for event in events:
                if text := telling.words(event):
                    yield frame(chunk_body(head, speaker | {"content": text}))
                    speaker = {}
        if telling.calls:
            yield frame(chunk_body(head, speaker | calls_delta(telling.calls)))
        yield frame(chunk_body(head, {}, telling.reason(finished)))
        if wants_usage:
            yield frame(usage_chunk(head, finished.usage))
    except AppError as error:
        yield frame(chat_error(error))
    finally:
        if finished is None:
            telling.sent.task.cancel()
    yield DONE

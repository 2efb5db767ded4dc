"""Finding out what a model can do: a few small tasks, each with a verdict, and the settings that suit it."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from remanence.core.llm import Delta, InContext, LLMConfig, ModelRequest, ResponseFormat, ToolSpec, Usage
from remanence.core.message import Message, Role, ToolReturn, text_parts
from remanence.core.reply import Reply, ReplyBuilder
from remanence.errors import ProviderError
from remanence.kit import json
from remanence.kit.ids import AgentId, MessageId
from remanence.kit.json import JsonObject

_LIMIT_S = 50
"""For all tasks together: who asks is to know in under a minute."""
_TASK_S = 15
"""For one of them: a model that runs on and on is not to keep the others from their turn."""
_AGENT = AgentId("agent-00000000-0000-4000-8000-000000000000")
_WEATHER = ToolSpec(
    "get_weather",
    "Tells the weather of a city right now.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
_NOTE = ToolSpec(
    "save_note",
    "Saves a note under a title.",
    {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "lines": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["title", "lines"],
    },
)

Stream = Callable[[ModelRequest], AsyncGenerator[Sequence[Delta]]]


_TOOLS = [_WEATHER, _NOTE]
"""The same for every task, so that a server reads them once."""
_LATE = "no answer in time"


@dataclass(frozen=True, slots=True)
class Verdict:
    task: str
    passed: bool | None
    """None if it could not be found out in time."""
    detail: str
    seconds: float


@dataclass(slots=True)
class Findings:
    verdicts: list[Verdict]
    first_token_s: float | None
    tokens_per_s: float | None

    def passed(self, task: str) -> bool:
        return any(each.task == task and each.passed for each in self.verdicts)

    def is_open(self, *tasks: str) -> bool:
        return any(each.task in tasks and each.passed is None for each in self.verdicts)

    def body(self, handle: str) -> JsonObject:
        return {
            "handle": handle,
            "tasks": [
                {"task": each.task, "passed": each.passed, "detail": each.detail, "seconds": each.seconds}
                for each in self.verdicts
            ],
            "first_token_s": self.first_token_s,
            "tokens_per_s": self.tokens_per_s,
            "suits": self.suits(),
        }

    def suits(self) -> JsonObject:
        """What kind of agent the model is good for, and with which settings."""
        needed = ("answers in words", "calls a tool", "uses what a tool returned")
        can_call = all(map(self.passed, needed[1:]))
        if self.is_open(*needed):
            return {
                "agent_type": None,
                "advice": f"The model is too slow here to be examined in {_LIMIT_S} seconds; agents will wait as long.",
            }
        if not self.passed("answers in words"):
            return {"agent_type": None, "advice": "The model does not answer; look at the details above."}
        if not can_call:
            return {
                "agent_type": None,
                "advice": "The model does not call tools reliably: it can chat, but not keep a memory.",
            }
        return {
            "agent_type": "any" if self.passed("obeys a forced call") else "letta_v1_agent",
            "parallel_tool_calls": self.passed("makes two calls at once"),
            "response_format": "json_schema" if self.passed("keeps to a JSON schema") else "text",
            "advice": "Fit for agents."
            if self.passed("keeps arguments whole")
            else "Fit for agents with simple tools; long arguments may break.",
        }


class Probe:
    """One examination. `stream` is the way to the model."""

    def __init__(self, config: LLMConfig, stream: Stream) -> None:
        self._config = config.model_copy(
            update={"temperature": 0.0, "max_tokens": 1024, "fallback_models": None}
        )
        self._stream = stream
        self._called: Reply | None = None
        self._first_token_s: float | None = None
        self._tokens_per_s: float | None = None

    async def run(self) -> Findings:
        tasks: dict[str, Callable[[], Awaitable[str]]] = {
            "answers in words": self._answers,
            "calls a tool": self._calls,
            "uses what a tool returned": self._uses_return,
            "obeys a forced call": self._obeys,
            "keeps arguments whole": self._keeps_whole,
            "makes two calls at once": self._calls_twice,
            "keeps to a JSON schema": self._keeps_schema,
        }
        verdicts: list[Verdict] = []
        deadline = time.monotonic() + _LIMIT_S
        for name, task in tasks.items():
            started = time.monotonic()
            try:
                async with asyncio.timeout(min(_TASK_S, max(0, deadline - started))):
                    detail, passed = await task(), True
            except _Failed as failed:
                detail, passed = str(failed), False
            except ProviderError as error:
                detail, passed = error.message, False
            except TimeoutError:
                detail, passed = _LATE, None
            verdicts.append(Verdict(name, passed, detail[:500], round(time.monotonic() - started, 2)))
        return Findings(verdicts, self._first_token_s, self._tokens_per_s)

    async def _answers(self) -> str:
        reply = await self._ask(_said("user", "Count from one to ten in words, separated by commas."))
        text = _words(reply)
        _check("ten" in text.lower() or "10" in text, f"it said: {text}")
        return text

    async def _calls(self) -> str:
        reply = await self._ask(_QUESTION, tools=_TOOLS)
        said = _one_call(reply, "get_weather", city="oslo")
        self._called = reply
        return said

    async def _uses_return(self) -> str:
        reply = self._called
        if reply is None:
            raise _Failed("there was no call that could return anything")
        call = reply.calls[0]
        result = ToolReturn(
            tool_call_id=call.id, name=call.name, status="success", content="17 degrees, hail"
        )
        answer = await self._ask(
            _QUESTION,
            _message("assistant", content=reply.content, tool_calls=reply.calls, model=self._config.model),
            _message("tool", tool_returns=(result,)),
            tools=_TOOLS,
        )
        text = _words(answer)
        _check("17" in text or "hail" in text.lower(), f"it said: {text}")
        return text

    async def _obeys(self) -> str:
        reply = await self._ask(
            _said("user", "Hello!"), tools=_TOOLS, tool_choice="required", forced_tool="save_note"
        )
        _check(bool(reply.calls) and reply.calls[0].name == "save_note", f"it said: {_words(reply)}")
        return reply.calls[0].arguments

    async def _keeps_whole(self) -> str:
        asked = (
            'Save a note with the title "Quotes" and these two lines: She said "hi" \\ and left. / Größe: 5 ½'
        )
        reply = await self._ask(_said("user", asked), tools=_TOOLS)
        _check(bool(reply.calls), f"it said: {_words(reply)}")
        try:
            lines = str(json.decode(reply.calls[0].arguments)["lines"])
        except (ValueError, KeyError, TypeError):
            lines = ""
        _check('"hi"' in lines and "Größe" in lines, f"it wrote: {reply.calls[0].arguments}")
        return reply.calls[0].arguments

    async def _calls_twice(self) -> str:
        asked = _said("user", "What is the weather in Oslo, and in Rome? Ask for both at once.")
        reply = await self._ask(asked, tools=_TOOLS, parallel_tool_calls=True)
        _check(len(reply.calls) == 2, f"it made {len(reply.calls)} calls")
        return " ".join(call.arguments for call in reply.calls)

    async def _keeps_schema(self) -> str:
        schema = {
            "type": "object",
            "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
            "required": ["city", "people"],
            "additionalProperties": False,
        }
        wanted = ResponseFormat(type="json_schema", json_schema={"name": "city", "schema": schema})
        asked = _said("user", "Name a large city and how many people live there.")
        text = _words(await self._ask(asked, response_format=wanted))
        try:
            value: Any = json.decode(text)
        except ValueError:
            value = None
        _check(isinstance(value, dict) and isinstance(value.get("people"), int), f"it said: {text}")  # pyright: ignore[reportUnknownMemberType]
        return text

    async def _ask(self, *messages: Message, **fields: Any) -> Reply:
        asked = ModelRequest(config=self._config, messages=[InContext(each) for each in messages], **fields)
        builder = ReplyBuilder()
        started, first = time.monotonic(), None
        async with aclosing(self._stream(asked)) as batches:
            async for batch in batches:
                first = first or time.monotonic()
                builder.add(batch)
        reply = builder.build()
        if self._first_token_s is None and first is not None:
            self._first_token_s = round(first - started, 3)
            self._tokens_per_s = _speed(reply.usage, time.monotonic() - first)
        return reply


class _Failed(Exception):
    pass


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _Failed(otherwise)


def _one_call(reply: Reply, name: str, **arguments: str) -> str:
    _check(bool(reply.calls), f"it said: {_words(reply)}")
    call = reply.calls[0]
    _check(call.name == name, f"it called {call.name}")
    try:
        given: dict[str, Any] = json.decode(call.arguments)
    except ValueError:
        raise _Failed(f"its arguments are no JSON: {call.arguments}") from None
    fits = all(value in str(given.get(key, "")).lower() for key, value in arguments.items())
    _check(fits, f"it wrote: {call.arguments}")
    return call.arguments


def _words(reply: Reply) -> str:
    text = "".join(part.text for part in reply.content if part.type == "text")
    return text or "".join(f"(nothing, but it called {call.name})" for call in reply.calls[:1])


def _speed(usage: Usage, seconds: float) -> float | None:
    return round(usage.completion_tokens / seconds, 1) if usage.completion_tokens and seconds > 0 else None


def _message(role: Role, **fields: Any) -> Message:
    id = MessageId("message-00000000-0000-4000-8000-000000000001")
    return Message(id=id, agent_id=_AGENT, role=role, created_at=datetime.now(UTC), **fields)


def _said(role: Role, text: str) -> Message:
    return _message(role, content=text_parts(text))


_QUESTION = _said("user", "What is the weather in Oslo right now?")

"""The embedded model behind the same port as every other: a request in, deltas out."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from uuid import uuid4

from remanence.core.llm import Delta, Finished, ModelRequest, Tape, TextDelta, ToolCallDelta
from remanence.errors import BadReply
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.llm.local.actions import REPLY, Action, Vocabulary
from remanence.llm.local.decoding import AnswerDecoder
from remanence.llm.local.engine import Ask, Engine, Outcome
from remanence.llm.local.process import PROVIDER
from remanence.llm.local.prompting import Prompt, compile_prompt

MAX_ANSWER_TOKENS = 512
_TEXT_TEMPERATURE = 0.3
"""Words may vary a little; actions are taken at their most likely."""

FindEngine = Callable[[str], Awaitable[Engine]]
"""The engine for a model name, once its weights are there. Raises ModelUnavailable."""


class LocalAdapter:
    def __init__(self, find_engine: FindEngine) -> None:
        self._find_engine = find_engine

    def payload(self, request: ModelRequest) -> JsonObject:
        ask = make_ask(request, compile_prompt(request))
        return {
            "model": request.config.model,
            "prompt": ask.prompt,
            "json_schema": ask.schema,
            "max_tokens": ask.max_tokens,
            "temperature": ask.temperature,
        }

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[Delta]]:
        prompt = compile_prompt(request)
        engine = await self._find_engine(request.config.model)
        tape = request.tape or Tape()
        tape.start(json.encode(self.payload(request)) if request.tape else b"")
        voice = _TextVoice() if prompt.vocabulary is None else _ActionVoice(prompt.vocabulary)
        async with aclosing(engine.generate(make_ask(request, prompt))) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    tape.response.append(piece.encode())
                if isinstance(piece, Outcome):
                    yield voice.finish(piece)
                elif deltas := voice.hear(piece):
                    yield deltas


def make_ask(request: ModelRequest, prompt: Prompt) -> Ask:
    return Ask(
        prompt=prompt.text,
        prefix=prompt.prefix,
        schema=prompt.schema,
        max_tokens=min(request.config.max_tokens or MAX_ANSWER_TOKENS, MAX_ANSWER_TOKENS),
        temperature=_TEXT_TEMPERATURE if prompt.vocabulary is None else 0.0,
        key=request.cache_key,
    )


class _TextVoice:
    """The answer is its words."""

    def hear(self, piece: str) -> Sequence[Delta]:
        return [TextDelta(piece)]

    def finish(self, outcome: Outcome) -> Sequence[Delta]:
        return [Finished("length" if outcome.is_cut else "stop", outcome.usage)]


class _ActionVoice:
    """The answer is an action: a reply is spoken as it comes, a call is made when it is whole."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._reply = vocabulary.find(REPLY)
        self._decoder = AnswerDecoder()
        self._call_id = f"call_{uuid4().hex[:24]}"
        self._has_spoken = False

    def hear(self, piece: str) -> Sequence[Delta]:
        words = self._decoder.feed(piece)
        return self._speak(words) if words else ()

    def finish(self, outcome: Outcome) -> Sequence[Delta]:
        if self._has_spoken:
            return self._end_reply(outcome)
        try:
            verb, value = self._decoder.answer()
        except ValueError as error:
            raise BadReply(
                "The embedded model did not finish its tool call within its limit of tokens",
                provider=PROVIDER,
            ) from error
        action = self._vocabulary.find(verb)
        if action is None:
            raise BadReply(f"The embedded model answered with an unknown action: {verb}", provider=PROVIDER)
        if action.tool is None:
            return [TextDelta(_as_text(value)), Finished("stop", outcome.usage)]
        return [
            ToolCallDelta(0, self._call_id, action.tool.name, json.readable(action.arguments(value))),
            Finished("tool_calls", outcome.usage),
        ]

    def _speak(self, words: str) -> Sequence[Delta]:
        """In words, or as the argument of the tool through which the agent speaks."""
        is_first, self._has_spoken = not self._has_spoken, True
        if self._reply is None or self._reply.tool is None:
            return [TextDelta(words)]
        inside = json.readable(words)[1:-1]
        if is_first:
            return [ToolCallDelta(0, self._call_id, self._reply.tool.name, f'{{"message": "{inside}')]
        return [ToolCallDelta(0, arguments=inside)]

    def _end_reply(self, outcome: Outcome) -> Sequence[Delta]:
        if self._reply is None or self._reply.tool is None:
            return [Finished("length" if outcome.is_cut else "stop", outcome.usage)]
        return [ToolCallDelta(0, arguments=_closing(self._reply)), Finished("tool_calls", outcome.usage)]


def _closing(reply: Action) -> str:
    """The rest of the arguments after the message, which may have been cut at the limit of tokens."""
    others = json.readable(reply.loop_arguments())[1:-1]
    return f'", {others}}}' if others else '"}'


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.readable(value)

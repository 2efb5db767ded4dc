"""What a request takes of its model's window, and how much it may.

Tokens are estimated by length, message by message, and each estimate is kept: a long history is
measured once. What a provider reports of its own count corrects the estimate (`corrected_ratio`).
Where it matters they are counted exactly instead (`count_exactly`), as the model's family counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from remanence.core.agent import AgentState, CompactionSettings
from remanence.core.block import Block
from remanence.core.llm import InContext, LLMConfig, ModelRequest, ToolSpec, Usage
from remanence.core.message import ImagePart, Message, ReasoningPart, ReturnPart, TextPart
from remanence.core.tokenizer import Tokenizer, count_tools, tokenizer_of
from remanence.kit import json
from remanence.kit.tokens import estimate_tokens

PER_MESSAGE_TOKENS = 4
"""Role and separators, which providers count too."""
_ANSWER_TOKENS = 3
"""With which every answer is begun."""
_IMAGE_TOKENS = 1_000
_RATIO_BOUNDS = (1.0, 1.3)
"""A provider that counts more than we do is followed so far, one that counts less is not: some report nothing true."""
_BELIEVED_FROM = 0.7
"""Of our own estimate."""


@dataclass(frozen=True, slots=True)
class ContextLimits:
    """Shares of the window: at which the agent is warned, and at which older messages make room."""

    warning: float = 0.7
    full: float = 0.9
    cache_s: float | None = 3600
    """After so long without a call a provider has surely forgotten the prompt; None: never."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a request may take, in tokens: more than `window` is not sent, more than `full` makes room after it."""

    window: int
    warning: int
    full: int


@dataclass(frozen=True, slots=True)
class Part:
    """Something in a request that has a name, for people to find what is too large."""

    name: str
    tokens: int


def budget_of(config: LLMConfig, settings: CompactionSettings | None, limits: ContextLimits) -> Budget:
    window = config.context_window
    warning = limits.warning if settings is None else settings.warning_threshold or limits.warning
    full = limits.full if settings is None else settings.full_threshold or limits.full
    return Budget(window, warning=int(window * warning), full=int(window * full))


def request_tokens(request: ModelRequest) -> int:
    return frame_tokens(request) + sum(map(tokens_of, request.messages))


def frame_tokens(request: ModelRequest) -> int:
    """Of all in a request that is no message."""
    if is_counted(request):
        return count_tools(request.tools, tokenizer_of(request.config)) + _ANSWER_TOKENS
    return tools_tokens(request.tools)


def tokens_of(each: InContext) -> int:
    if not each.tokens:
        each.tokens = PER_MESSAGE_TOKENS + _content_tokens(each.message, estimate_tokens)
    return each.tokens


def tools_tokens(specs: Sequence[ToolSpec]) -> int:
    return sum(map(tool_tokens, specs))


def tool_tokens(spec: ToolSpec) -> int:
    written = spec.name + spec.description + json.encode_text(spec.parameters)
    return PER_MESSAGE_TOKENS + estimate_tokens(written)


def is_counted(request: ModelRequest) -> bool:
    """Whether all of its messages were counted exactly."""
    return all(each.is_counted_exactly for each in request.messages)


def count_exactly(request: ModelRequest) -> None:
    """Replaces estimates by counts. Slow for long histories: call it off the event loop."""
    tokenizer = tokenizer_of(request.config)
    for each in request.messages:
        if not each.is_counted_exactly:
            each.tokens = message_tokens(each.message, tokenizer)
            each.is_counted_exactly = True
    count_tools(request.tools, tokenizer)  # kept from here on


def message_tokens(message: Message, tokenizer: Tokenizer) -> int:
    """Counted exactly."""
    return PER_MESSAGE_TOKENS + _content_tokens(message, tokenizer.count)


def corrected_ratio(config: LLMConfig, *, reported: int, estimated: int) -> float | None:
    """By how much the provider's count differs from our estimate; None if it reports nothing."""
    if reported <= 0 or estimated <= 0:
        return None
    low, high = _RATIO_BOUNDS
    return min(max(reported / estimated, low), high * tokenizer_of(config).margin)


def context_tokens(usage: Usage, estimated: int) -> int:
    """What a call took of the window, by the provider's word unless that cannot be."""
    return max(usage.total_tokens, int(estimated * _BELIEVED_FROM) + usage.completion_tokens)


def largest_part(state: AgentState, request: ModelRequest, inputs: Sequence[Message]) -> Part:
    """What takes most of a request that has no history left to do without."""
    tokenizer = tokenizer_of(request.config)
    system = next((each.message.text for each in request.messages if each.message.role == "system"), "")
    memory = [
        Part(f"the memory block {block.label!r}", _block_tokens(block, tokenizer)) for block in state.blocks
    ]
    files = [
        Part(f"the open file {file.name!r}", tokenizer.count(file.view or ""))
        for file in state.shelf.files
        if file.is_open and (file.view or "") in system
    ]
    in_memory = sum(part.tokens for part in (*memory, *files))
    parts = [
        *memory,
        *files,
        *(Part(f"the schema of the tool {spec.name!r}", tool_tokens(spec)) for spec in request.tools),
        *(
            Part(f"the {_noun(message)} {message.id}", message_tokens(message, tokenizer))
            for message in inputs
        ),
        Part("the system prompt", max(0, tokenizer.count(system) - in_memory)),
    ]
    return max(parts, key=lambda part: part.tokens)


def _noun(message: Message) -> str:
    return "message" if message.role == "user" else f"{message.role} message"


def _block_tokens(block: Block, tokenizer: Tokenizer) -> int:
    return tokenizer.count(block.value) + tokenizer.count(block.description or "")


def _content_tokens(message: Message, count: Callable[[str], int]) -> int:
    tokens = count(message.name) + 1 if message.name else 0
    for part in message.content:
        match part:
            case TextPart(text=text):
                tokens += count(text)
            case ReasoningPart(is_native=False, reasoning=text):  # goes back as an argument of its call
                tokens += count(text)
            case ImagePart():
                tokens += _IMAGE_TOKENS
            case _:  # the provider's own thoughts cost nothing, or little, when they are sent back
                pass
    for call in message.tool_calls:
        tokens += count(call.name) + count(call.arguments)
    for each in message.tool_returns:
        tokens += _return_tokens(each.content, count)
    return tokens


def _return_tokens(content: str | tuple[ReturnPart, ...], count: Callable[[str], int]) -> int:
    if isinstance(content, str):
        return count(content)
    return sum(count(part.text) if isinstance(part, TextPart) else _IMAGE_TOKENS for part in content)

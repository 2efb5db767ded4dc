"""How the models of a family count: by which table, and how far on the safe side of it.

The tables of OpenAI's models are public; other makers count more than those do, by as much as `margin`
says at most for ordinary text and code. What a provider then reports corrects it (`TokenFactors`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

from remanence.core.llm import LLMConfig, ToolSpec
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.kit.tokens import Table, count_tokens

_BELIEVED = (0.8, 2.5)
"""A provider's count by ours: beyond these it counts something else, or does not tell the truth."""
_FALLS_BY = 0.3
"""Of the way, at each answer, where a model counts less than was thought; a rise is followed at once."""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    table: Table = "o200k_base"
    margin: float = 1.0
    tool_start: int | None = None
    """What OpenAI's chat format takes around a tool, whose schema it rewrites; None where schemas go as they are."""

    def count(self, text: str) -> int:
        return count_tokens(text, self.table)


_O200K = Tokenizer(tool_start=7)
_CL100K = Tokenizer("cl100k_base", tool_start=10)
_UNKNOWN = Tokenizer(margin=1.3)
_FAMILIES: tuple[tuple[re.Pattern[str], Tokenizer], ...] = (
    (re.compile(r"(chat)?gpt-(4o|4\.[1-9]|[5-9])|o[1-9](-|$)|gpt-oss"), _O200K),
    (re.compile(r"gpt-(3\.5|35|4)"), _CL100K),
    # Since 4.7 Claude's tokens are up to a third shorter than they were.
    (re.compile(r".*claude-(\w+-)?(4[-.][7-9]|[5-9])"), Tokenizer(margin=1.65)),
    (re.compile(r".*claude"), Tokenizer(margin=1.35)),
    (
        re.compile(r"gemini|gemma|(meta-)?llama-?[3-9]|qwen|qwq|deepseek|glm|kimi|minimax|grok"),
        Tokenizer(margin=1.2),
    ),
)


@lru_cache(256)
def _by_name(name: str) -> Tokenizer:
    return next((each for pattern, each in _FAMILIES if pattern.match(name)), _UNKNOWN)


def tokenizer_of(config: LLMConfig) -> Tokenizer:
    """Deployments at Azure have names of their own, and behind them is a model of OpenAI's."""
    found = _by_name(config.model.rpartition("/")[2].lower())
    return _O200K if found is _UNKNOWN and config.model_endpoint_type == "azure" else found


def count_tools(tools: Sequence[ToolSpec], tokenizer: Tokenizer) -> int:
    if not tools:
        return 0
    end = 12 if tokenizer.tool_start is not None else 0
    return end + sum(
        _count_tool(tool.name, tool.description, json.encode_text(tool.parameters), tokenizer)
        for tool in tools
    )


@lru_cache(1024)
def _count_tool(name: str, description: str, parameters: str, tokenizer: Tokenizer) -> int:
    if tokenizer.tool_start is None:
        return tokenizer.count(f'{{"name":"{name}","description":"{description}","parameters":{parameters}}}')
    said = f"{name}:{description.removesuffix('.')}"
    return tokenizer.tool_start + tokenizer.count(said) + _count_fields(json.decode(parameters), tokenizer)


def _count_fields(schema: JsonObject, tokenizer: Tokenizer) -> int:
    """A line for each property, as OpenAI has published what it counts; what is inside one counts alike."""
    properties: dict[str, JsonObject] = schema.get("properties") or {}
    tokens = 3 if properties else 0
    for name, about in properties.items():
        said = str(about.get("description") or "").removesuffix(".")
        tokens += 3 + tokenizer.count(f"{name}:{about.get('type', '')}:{said}")
        choices: list[object] = about.get("enum") or []
        if choices:
            tokens += -3 + sum(3 + tokenizer.count(str(choice)) for choice in choices)
        inside = about.get("items") if isinstance(about.get("items"), dict) else about
        tokens += _count_fields(cast("JsonObject", inside), tokenizer)
    return tokens


@dataclass(slots=True)
class TokenFactors:
    """What the models that were asked count for one of our tokens, counted exactly. One for the process."""

    _learned: dict[str, float] = field(default_factory=dict[str, float])

    def of(self, config: LLMConfig) -> float:
        learned = self._learned.get(_key(config))
        return learned if learned is not None else tokenizer_of(config).margin

    def learn(self, config: LLMConfig, *, reported: int, counted: int) -> None:
        """From an answer: what the provider says that a request took, which we had counted."""
        low, high = _BELIEVED
        if counted <= 0 or not low <= (seen := reported / counted) <= high:
            return
        known = self._learned.get(_key(config), 0.0)
        self._learned[_key(config)] = seen if seen >= known else known + (seen - known) * _FALLS_BY


def _key(config: LLMConfig) -> str:
    return config.handle or f"{config.model_endpoint_type}/{config.model}"

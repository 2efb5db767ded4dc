"""Has the summary written of what leaves a window: by the model chosen for it, by the agent's own, or by none."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from remanence.agents.model_settings import apply_model_settings
from remanence.core.agent import AgentState, CompactionSettings
from remanence.core.budget import tokens_of
from remanence.core.llm import InContext, LLMConfig, ModelRequest, ToolSpec, Usage
from remanence.core.message import Message
from remanence.core.profile import compaction_prompt
from remanence.core.transcript import clip, extract_summary, render_transcript
from remanence.errors import AppError
from remanence.kit.tokens import estimate_tokens
from remanence.llm.asking import said, whole_reply, words_of
from remanence.runs.plan import LoopDoors

log = logging.getLogger(__name__)

_PATIENCE_S = 120
"""For one model; an agent must not wait for ever for its own summary."""
_PROMPT_SHARE = 0.7
_CHARS_PER_TOKEN = 3
_LEAST_TRANSCRIPT_CHARS = 2_000
_ASKED_TO_ACKNOWLEDGE = "Will you answer what follows with the summary and nothing else?"
_ACKNOWLEDGEMENT = "Yes. My next answer will be the summary and nothing else."


@dataclass(frozen=True, slots=True)
class SummaryTask:
    state: AgentState
    seen: Sequence[InContext]
    """The window up to the last message that leaves it: the beginning of the agent's own prompt."""
    leaving: Sequence[Message]
    tools: Sequence[ToolSpec]
    config: LLMConfig
    """The agent's own model."""
    settings: CompactionSettings
    most_tokens: int


@dataclass(frozen=True, slots=True)
class Written:
    text: str
    usage: Usage


async def write_summary(task: SummaryTask, doors: LoopDoors) -> Written:
    """Never fails: where no model answers, the summary is made of excerpts."""
    usage = Usage()
    async for request in _requests(task, doors):
        try:
            text, spent = await _ask(request, doors)
        except (AppError, TimeoutError) as error:
            log.warning("%s did not write a summary: %s", request.config.model, error or "it took too long")
            continue
        usage = usage.plus(spent)
        if text:
            return Written(_fit(text, task), usage)
        log.warning("%s wrote an empty summary", request.config.model)
    zone = task.state.agent.timezone
    excerpts = extract_summary(task.leaving, most_chars=4 * task.most_tokens, timezone=zone)
    return Written(_fit(excerpts, task), usage)


async def _requests(task: SummaryTask, doors: LoopDoors) -> AsyncIterator[ModelRequest]:
    """The ways to have it written, best first."""
    own = _plain(task.config)
    settings = task.settings
    is_own_voice = settings.mode in ("self_compact_all", "self_compact_sliding_window")
    prompt = settings.prompt or compaction_prompt(settings.mode)
    if is_own_voice:
        request = _own_request(task, own, prompt)
        if sum(map(tokens_of, request.messages)) < own.context_window:
            yield request
        prompt = compaction_prompt("all")
    elif settings.model is not None and settings.model != own.handle:
        try:
            chosen = await doors.resolve(settings.model, task.state.agent.organization_id)
            if settings.model_settings:
                chosen = apply_model_settings(chosen, settings.model_settings)
        except AppError as error:
            log.info("no summary by %s: %s", settings.model, error.message)
        else:
            yield _transcript_request(task, _plain(chosen), prompt)
    yield _transcript_request(task, own, prompt)


def _plain(config: LLMConfig) -> LLMConfig:
    """Without what the agent's answers are bound to: a summary is a text, of any length."""
    return config.model_copy(update={"response_format": None, "max_tokens": None})


def _own_request(task: SummaryTask, config: LLMConfig, prompt: str) -> ModelRequest:
    """What the model has read already, and a question behind it: most of it comes from the provider's cache."""
    return ModelRequest(
        config=config,
        messages=(*task.seen, said("user", prompt, task.state.agent.id)),
        tools=task.tools,
        tool_choice="none",
        cache_key=task.state.lane,
    )


def _transcript_request(task: SummaryTask, config: LLMConfig, prompt: str) -> ModelRequest:
    most_chars = max(
        int(config.context_window * _PROMPT_SHARE * _CHARS_PER_TOKEN) - len(prompt), _LEAST_TRANSCRIPT_CHARS
    )
    told = render_transcript(task.leaving, most_chars=most_chars, timezone=task.state.agent.timezone)
    agent_id = task.state.agent.id
    messages = [said("system", prompt, agent_id), said("user", told, agent_id)]
    if task.settings.prompt_acknowledgement:
        messages[1:1] = [
            said("user", _ASKED_TO_ACKNOWLEDGE, agent_id),
            said("assistant", _ACKNOWLEDGEMENT, agent_id),
        ]
    return ModelRequest(config=config, messages=messages, cache_key=f"summary-{task.state.lane}")


async def _ask(request: ModelRequest, doors: LoopDoors) -> tuple[str, Usage]:
    async with asyncio.timeout(_PATIENCE_S):
        reply = await whole_reply(doors.stream(request))
    return words_of(reply).strip(), reply.usage


def _fit(text: str, task: SummaryTask) -> str:
    """A summary is never longer than what it is to replace, whatever a model wrote."""
    if task.settings.clip_chars is not None:
        text = clip(text, task.settings.clip_chars)
    while (tokens := estimate_tokens(text)) > task.most_tokens:
        text = clip(text, int(len(text) * task.most_tokens / tokens) - 1)
    return text

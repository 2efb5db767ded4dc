"""How an agent wants its window kept: what is said when it is made, and what later changes mean."""

from remanence.agents.schemas import CompactionInput
from remanence.core.agent import CompactionSettings
from remanence.core.llm import LLMConfig
from remanence.core.profile import compaction_prompt

LIGHT_MODELS = {
    "openai": "openai/gpt-5-mini",
    "anthropic": "anthropic/claude-haiku-4-5",
    "google_ai": "google_ai/gemini-2.5-flash",
}
"""What writes summaries when nothing else is said: each provider's small model."""


def first_settings(
    given: CompactionInput | None, config: LLMConfig, *, share: float = 0.3
) -> CompactionSettings:
    """`share` is what leaves a sliding window unless the agent says otherwise."""
    given = given or CompactionInput()
    asked = given.model_dump(exclude_none=True) | {"clip_chars": given.clip_chars}
    if "sliding_window_percentage" not in given.model_fields_set:
        asked["sliding_window_percentage"] = share
    defaults = {
        "model": LIGHT_MODELS.get(config.model_endpoint_type, config.handle),
        "prompt": compaction_prompt(given.mode),
    }
    return CompactionSettings.model_validate(
        defaults | {key: asked[key] for key in asked if asked[key] != ""}
    )


def merge_settings(
    current: CompactionSettings | None, given: CompactionInput, config: LLMConfig
) -> CompactionSettings:
    """Given fields win; another mode brings its own prompt unless one is given too."""
    base = current or first_settings(None, config)
    changes = {
        name: value
        for name, value in given.model_dump(include=given.model_fields_set).items()
        if value is not None or name == "clip_chars"  # where null has a meaning: no clipping
    }
    if given.mode != base.mode and "mode" in changes and not given.prompt:
        changes["prompt"] = compaction_prompt(given.mode)
    return base.model_copy(update=changes)

"""What can be told from the name of an OpenAI model: whether it reasons, and what it then refuses."""

import re

from remanence.core.llm import ReasoningEffort

_O_SERIES = re.compile(r"o[1-9](-|$)")
_GPT_5 = re.compile(r"gpt-([5-9]|\d\d)(\.\d+)?(-|$)")


def base_name(model: str) -> str:
    """Routers put the maker before the name: `openai/o3`."""
    return model.rpartition("/")[2]


def is_o_series(model: str) -> bool:
    return _O_SERIES.match(base_name(model)) is not None


def is_gpt_5(model: str) -> bool:
    """The reasoning models since then; chat models of the same name behave like gpt-4o."""
    name = base_name(model)
    return _GPT_5.match(name) is not None and "-chat" not in name


def is_reasoning_model(model: str) -> bool:
    """Such models refuse temperature and penalties, and take `reasoning_effort`."""
    return is_o_series(model) or is_gpt_5(model)


def fitting_effort(model: str, effort: ReasoningEffort) -> str:
    """The nearest effort that the model knows: each generation has its own lowest and highest."""
    if is_o_series(model):
        return {"none": "low", "minimal": "low", "xhigh": "high"}.get(effort, effort)
    is_first = re.match(r"gpt-5(-|$)", base_name(model)) is not None
    if is_first:
        return {"none": "minimal", "xhigh": "high"}.get(effort, effort)
    return {"minimal": "none"}.get(effort, effort)

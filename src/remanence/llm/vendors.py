"""The vendors of models, as data: where they are, what they speak, and how they differ.

Only what is documented by the vendor or was seen in its own error messages stands here.
"""

from dataclasses import dataclass
from typing import Literal

from remanence.errors import BadArgument

Format = Literal["chat", "responses", "anthropic", "gemini"]
"""OpenAI Chat Completions, OpenAI Responses, Anthropic Messages, Google Gemini."""


@dataclass(frozen=True, slots=True)
class Quirks:
    """How a vendor departs from what most servers of Chat Completions accept."""

    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    takes_names: bool = True
    """`name` on user messages."""
    takes_stream_options: bool = True
    takes_parallel_flag: bool = False
    takes_effort: bool = False
    """`reasoning_effort` for any model; with `has_openai_models` it is sent to its reasoning models alone."""
    takes_strict: bool = False
    """`strict` in function schemas."""
    takes_penalty: bool = True
    tool_choice: Literal["named", "required", "auto"] = "named"
    """The strongest choice that can be asked for: one tool by name, any tool, or none at all."""
    call_id_chars: int = 40
    """Longest id of a tool call; 9 means exactly nine letters and digits."""
    sends_reasoning_back: bool = False
    """Earlier reasoning goes back as `reasoning_content`; the vendor refuses tool turns without it."""
    has_thinking_switch: bool = False
    """`thinking: {type: disabled}` exists, and a tool can be forced only when it is used."""
    has_openai_models: bool = False
    """The rules by model name in `openai_models.py` apply."""


@dataclass(frozen=True, slots=True)
class Vendor:
    name: str
    """`provider_type` on the wire, and the first part of a handle."""
    base_url: str
    key_variable: str | None = None
    endpoint_type: str = ""
    """`model_endpoint_type` on the wire where it is not the name."""
    aliases: tuple[str, ...] = ()
    quirks: Quirks = Quirks()
    format: Format = "chat"
    """`chat` where a model may also be spoken to over Responses (`adapters.py`)."""
    version: str = ""
    """What the path of every base URL ends in."""

    @property
    def model_endpoint_type(self) -> str:
        return self.endpoint_type or self.name


VENDORS: tuple[Vendor, ...] = (
    Vendor(
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        aliases=("openai-proxy",),
        quirks=Quirks(
            limit_field="max_completion_tokens",
            takes_parallel_flag=True,
            takes_strict=True,
            has_openai_models=True,
        ),
    ),
    Vendor(
        "anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", format="anthropic", version="v1"
    ),
    Vendor(
        "google_ai",
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY",
        aliases=("gemini", "google"),
        format="gemini",
        version="v1beta",
    ),
    Vendor(
        "deepseek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        quirks=Quirks(sends_reasoning_back=True, has_thinking_switch=True),
    ),
    Vendor(
        "groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        quirks=Quirks(limit_field="max_completion_tokens", takes_names=False, takes_parallel_flag=True),
    ),
    Vendor("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    Vendor("xai", "https://api.x.ai/v1", "XAI_API_KEY", quirks=Quirks(takes_penalty=False)),
    Vendor(
        "zai",
        "https://api.z.ai/api/paas/v4",
        "ZAI_API_KEY",
        quirks=Quirks(takes_names=False, takes_stream_options=False, takes_penalty=False, tool_choice="auto"),
    ),
    Vendor(
        "zai_coding",
        "https://api.z.ai/api/coding/paas/v4",
        "ZAI_API_KEY",
        quirks=Quirks(takes_names=False, takes_stream_options=False, takes_penalty=False, tool_choice="auto"),
    ),
    Vendor(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        quirks=Quirks(takes_parallel_flag=True, takes_effort=True),
    ),
    Vendor("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", endpoint_type="openai"),
    Vendor(
        "mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        quirks=Quirks(
            takes_names=False, takes_stream_options=False, takes_parallel_flag=True, call_id_chars=9
        ),
    ),
    Vendor("baseten", "https://inference.baseten.co/v1", "BASETEN_API_KEY"),
    Vendor(
        "minimax",
        "https://api.minimax.io/v1",
        "MINIMAX_API_KEY",
        quirks=Quirks(limit_field="max_completion_tokens", takes_penalty=False, tool_choice="auto"),
    ),
    Vendor("ollama", "http://127.0.0.1:11434/v1", "OLLAMA_API_KEY"),
    Vendor("vllm", "http://127.0.0.1:8000/v1", "VLLM_API_KEY"),
    Vendor("sglang", "http://127.0.0.1:30000/v1", "SGLANG_API_KEY", endpoint_type="openai"),
    Vendor(
        "lmstudio_openai",
        "http://127.0.0.1:1234/v1",
        "LMSTUDIO_API_KEY",
        endpoint_type="lmstudio-chatcompletions",
        aliases=("lmstudio", "lmstudio-chatcompletions"),
        quirks=Quirks(tool_choice="required"),
    ),
    Vendor("llamacpp", "http://127.0.0.1:8080/v1", "LLAMACPP_API_KEY"),
)

_BY_NAME = {name: vendor for vendor in VENDORS for name in (vendor.name, *vendor.aliases)}


def find_vendor(name: str) -> Vendor | None:
    """By name or alias, as it stands in a handle or in `model_endpoint_type`."""
    return _BY_NAME.get(name)


def get_vendor(name: str) -> Vendor:
    """Raises `BadArgument` naming the supported vendors."""
    vendor = _BY_NAME.get(name)
    if vendor is None:
        known = ", ".join(sorted(vendor.name for vendor in VENDORS))
        raise BadArgument(f"The model endpoint type '{name}' is not supported here. Supported: {known}")
    return vendor

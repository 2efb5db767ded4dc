"""The vendors of models, as data: where they are, what they speak, and how they differ.

Only what is documented by the vendor or was seen in its own error messages stands here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from remanence.errors import BadArgument

Format = Literal["chat", "responses", "anthropic", "gemini"]
"""OpenAI Chat Completions, OpenAI Responses, Anthropic Messages, Google Gemini."""

Listing = Literal["openai", "gemini", "ollama", "lmstudio", "llamacpp", "bedrock", "vertex", "none"]
Cloud = Literal["aws", "google"]


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
    keeps_details: bool = False
    """Gives thoughts as `reasoning_details`, and wants them back as they were."""
    has_thinking_switch: bool = False
    """`thinking: {type: disabled}` exists; where a tool can be forced, then only when it is used."""
    takes_cache_key: bool = False
    """`prompt_cache_key`, by which a conversation finds its warm cache again."""
    cache_header: str = ""
    """The same as a header, for vendors who want it there."""
    marks_claude: bool = False
    """Passes `cache_control` on to Claude, which caches nothing unless it is told to."""
    has_openai_models: bool = False
    """The rules by model name in `openai_models.py` apply."""


@dataclass(frozen=True, slots=True)
class Vendor:
    name: str
    """`provider_type` on the wire, and the first part of a handle."""
    base_url: str
    """Empty where every customer has an address of his own."""
    variables: tuple[str, ...] = ()
    """How the names of its variables begin: `OPENAI` for `OPENAI_API_KEY` and `OPENAI_BASE_URL`."""
    endpoint_type: str = ""
    """`model_endpoint_type` on the wire where it is not the name."""
    aliases: tuple[str, ...] = ()
    quirks: Quirks = Quirks()
    format: Format = "chat"
    """`chat` where a model may also be spoken to over Responses (`adapters.py`)."""
    version: str = ""
    """What the path of every base URL ends in."""
    key_header: str | None = None
    """Where the key goes, if it is no bearer token."""
    listing: Listing = "openai"
    """Who tells more of its models than most, and where."""
    is_local: bool = False
    """Runs on people's own machines: needs no key, and may take its time over a prompt."""
    prices: str | None = None
    """Its name in the table of prices (`prices.py`)."""
    cloud: Cloud | None = None
    """Whose rules hold there (`clouds.py`); `{region}` and `{project}` in the base URL are the customer's."""
    known_as: str = ""
    """Where its models stand in the shipped table, if not under its name."""
    own_variables: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names of variables beside those that all vendors have, by field."""

    @property
    def model_endpoint_type(self) -> str:
        return self.endpoint_type or self.name


_ZAI = Quirks(
    takes_names=False,
    takes_stream_options=False,
    takes_penalty=False,
    tool_choice="auto",
    has_thinking_switch=True,
)

VENDORS: tuple[Vendor, ...] = (
    Vendor(
        "openai",
        "https://api.openai.com/v1",
        ("OPENAI",),
        aliases=("openai-proxy",),
        quirks=Quirks(
            limit_field="max_completion_tokens",
            takes_parallel_flag=True,
            takes_strict=True,
            takes_cache_key=True,
            has_openai_models=True,
        ),
        prices="openai",
    ),
    Vendor(
        "anthropic",
        "https://api.anthropic.com/v1",
        ("ANTHROPIC",),
        format="anthropic",
        version="v1",
        prices="anthropic",
    ),
    Vendor(
        "google_ai",
        "https://generativelanguage.googleapis.com/v1beta",
        ("GEMINI", "GOOGLE"),
        aliases=("gemini", "google"),
        format="gemini",
        version="v1beta",
        listing="gemini",
        prices="google",
    ),
    Vendor(
        "azure",
        "",
        ("AZURE", "AZURE_OPENAI"),
        quirks=Quirks(
            limit_field="max_completion_tokens",
            takes_parallel_flag=True,
            takes_strict=True,
            takes_cache_key=True,
            has_openai_models=True,
        ),
        version="openai/v1",
        key_header="api-key",
        prices="azure",
    ),
    Vendor(
        "deepseek",
        "https://api.deepseek.com/v1",
        ("DEEPSEEK",),
        quirks=Quirks(sends_reasoning_back=True, has_thinking_switch=True),
        prices="deepseek",
    ),
    Vendor(
        "groq",
        "https://api.groq.com/openai/v1",
        ("GROQ",),
        quirks=Quirks(limit_field="max_completion_tokens", takes_names=False, takes_parallel_flag=True),
        prices="groq",
    ),
    Vendor("together", "https://api.together.xyz/v1", ("TOGETHER",), prices="together"),
    Vendor(
        "xai",
        "https://api.x.ai/v1",
        ("XAI",),
        quirks=Quirks(takes_penalty=False, cache_header="x-grok-conv-id"),
        prices="x-ai",
    ),
    Vendor("zai", "https://api.z.ai/api/paas/v4", ("ZAI",), quirks=_ZAI, prices="zai"),
    Vendor("zai_coding", "https://api.z.ai/api/coding/paas/v4", ("ZAI_CODING",), quirks=_ZAI, prices="zai"),
    Vendor("moonshot", "https://api.moonshot.ai/v1", ("MOONSHOT",), prices="moonshotai"),
    Vendor(
        "moonshot_coding",
        "https://api.kimi.com/coding/v1",
        ("MOONSHOT_CODING", "KIMI"),
        format="anthropic",
        version="v1",
        prices="moonshotai",
    ),
    Vendor(
        "openrouter",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER",),
        quirks=Quirks(takes_parallel_flag=True, takes_effort=True, keeps_details=True, marks_claude=True),
        prices="openrouter",
    ),
    Vendor(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        ("FIREWORKS",),
        quirks=Quirks(takes_cache_key=True),
        prices="fireworks",
    ),
    Vendor(
        "mistral",
        "https://api.mistral.ai/v1",
        ("MISTRAL",),
        quirks=Quirks(
            takes_names=False, takes_stream_options=False, takes_parallel_flag=True, call_id_chars=9
        ),
        prices="mistral",
    ),
    Vendor("baseten", "https://inference.baseten.co/v1", ("BASETEN",), prices="baseten"),
    Vendor(
        "cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS",), endpoint_type="openai", prices="cerebras"
    ),
    Vendor(
        "minimax",
        "https://api.minimax.io/v1",
        ("MINIMAX",),
        quirks=Quirks(limit_field="max_completion_tokens", takes_penalty=False, tool_choice="auto"),
        prices="minimax",
    ),
    Vendor(
        "hugging-face",
        "https://router.huggingface.co/v1",
        ("HUGGINGFACE", "HF"),
        aliases=("huggingface",),
    ),
    Vendor(
        "bedrock",
        "https://bedrock-runtime.{region}.amazonaws.com/model",
        ("BEDROCK",),
        version="model",
        listing="bedrock",
        prices="aws",
        cloud="aws",
        own_variables=(
            ("access_key", ("AWS_ACCESS_KEY_ID",)),
            ("api_key", ("AWS_SECRET_ACCESS_KEY",)),
            ("region", ("AWS_REGION", "AWS_DEFAULT_REGION")),
            ("token", ("AWS_BEARER_TOKEN_BEDROCK",)),
        ),
    ),
    Vendor(
        "google_vertex",
        "https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/publishers",
        ("VERTEX", "GOOGLE_VERTEX"),
        aliases=("vertex",),
        format="gemini",
        listing="vertex",
        prices="google",
        cloud="google",
        known_as="google_ai",
        own_variables=(
            ("project", ("GOOGLE_CLOUD_PROJECT",)),
            ("region", ("GOOGLE_CLOUD_LOCATION",)),
        ),
    ),
    Vendor("voyage", "https://api.voyageai.com/v1", ("VOYAGE",), listing="none", prices="voyageai"),
    Vendor(
        "ollama",
        "http://127.0.0.1:11434/v1",
        ("OLLAMA",),
        quirks=Quirks(tool_choice="required"),
        listing="ollama",
        is_local=True,
    ),
    Vendor("vllm", "http://127.0.0.1:8000/v1", ("VLLM",), is_local=True),
    Vendor("sglang", "http://127.0.0.1:30000/v1", ("SGLANG",), endpoint_type="openai", is_local=True),
    Vendor(
        "lmstudio_openai",
        "http://127.0.0.1:1234/v1",
        ("LMSTUDIO",),
        endpoint_type="lmstudio-chatcompletions",
        aliases=("lmstudio", "lmstudio-chatcompletions"),
        quirks=Quirks(tool_choice="required"),
        listing="lmstudio",
        is_local=True,
    ),
    Vendor(
        "llamacpp",
        "http://127.0.0.1:8080/v1",
        ("LLAMACPP",),
        quirks=Quirks(tool_choice="required"),
        listing="llamacpp",
        is_local=True,
    ),
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


def read_variables(environment: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The access that the environment gives, by vendor. Our own prefix wins over the vendor's own names."""
    found: dict[str, dict[str, str]] = {}
    for vendor in VENDORS:
        access: dict[str, str] = {}
        fields = [(field, _names(vendor, endings)) for field, endings in _VARIABLES.items()]
        for field, names in (*fields, *vendor.own_variables):
            for name in (*(f"REMANENCE_{each}" for each in names), *names):
                if value := environment.get(name):
                    access.setdefault(field, value)
        if token := access.pop("token", None):  # a key that stands for the pair of them
            access["api_key"] = token
            access.pop("access_key", None)
        if _is_enough(vendor, access):
            found[vendor.name] = access
    return found


def _names(vendor: Vendor, endings: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{start}_{ending}" for start in vendor.variables for ending in endings)


def _is_enough(vendor: Vendor, access: Mapping[str, str]) -> bool:
    """A region or a project alone is set on many machines, for other ends."""
    match vendor.cloud:
        case None:
            return bool(access)
        case "aws":
            return "base_url" in access or {"api_key", "region"} <= access.keys()
        case "google":
            return bool({"base_url", "api_key"} & access.keys()) or {"project", "region"} <= access.keys()


_VARIABLES = {
    "api_key": ("API_KEY", "TOKEN"),
    "base_url": ("BASE_URL", "API_BASE", "ENDPOINT"),
    "api_version": ("API_VERSION",),
}

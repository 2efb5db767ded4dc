"""What an operator may set, read from the environment once.

Only `app` and `cli` read this; the rooms get plain values. Every setting has the prefix `REMANENCE_`.
The predecessor's names and the providers' own are accepted beside it, so that people move in by
changing the command and not their environment.
"""

import os
import re
import secrets
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from remanence.core.schedule import MissedRuns
from remanence.llm.vendors import find_vendor, read_variables

DATABASE_FILE = "remanence.sqlite3"

# Options of libpq and of other drivers that asyncpg calls otherwise (None: it has no such thing).
_LIBPQ_TO_ASYNCPG = {"sslmode": "ssl", "channel_binding": None, "connect_timeout": None, "gssencmode": None}


def normalise_database_url(text: str) -> str:
    """A database as people write it, as SQLAlchemy wants it.

    PostgreSQL may be spelled with any driver (`postgres://`, `postgresql+pg8000://`, …) and comes out
    for asyncpg. SQLite may be a URL or the path of a file. Raises ValueError for anything else.
    """
    text = text.strip()
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _sqlite_url(text)
    match scheme.lower().partition("+")[0]:
        case "postgres" | "postgresql":
            return _asyncpg_url(rest)
        case "sqlite":
            return _sqlite_url(rest.removeprefix("/"))
        case other:
            raise ValueError(
                f"{other!r} databases are not supported: give a file for SQLite or postgresql://…"
            )


def _sqlite_url(path: str) -> str:
    # Every thread opens its own connection, so a database in memory would be a different one for each.
    if path in ("", ":memory:") or "mode=memory" in path:
        raise ValueError("a database in memory cannot be shared between threads: give the path of a file")
    return f"sqlite:///{path}"


def _asyncpg_url(rest: str) -> str:
    parts = urlsplit(f"postgresql+asyncpg://{rest}")
    options = [
        (name, value)
        for given, value in parse_qsl(parts.query)
        if (name := _LIBPQ_TO_ASYNCPG.get(given, given)) is not None
    ]
    return urlunsplit(parts._replace(query=urlencode(options)))


def _split(value: object) -> object:
    """`a, b` as people write lists into the environment."""
    return [each.strip() for each in value.split(",") if each.strip()] if isinstance(value, str) else value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class ProviderAccess(BaseModel):
    """What it takes to reach a provider of models; either of the first two turns it on."""

    model_config = ConfigDict(frozen=True)

    api_key: SecretStr | None = None
    base_url: str | None = None
    api_version: str | None = None
    access_key: SecretStr | None = None
    region: str | None = None
    project: str | None = None


class _ProviderVariables(PydanticBaseSettingsSource):
    """The variables of every vendor, as its own tools name them."""

    def get_field_value(self, field: object, field_name: str) -> tuple[Any, str, bool]:
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        found = read_variables(os.environ)
        return {"providers": found} if found else {}


class Settings(BaseSettings):
    """The settings in force. Arguments win over the environment; of several names the first that is set."""

    model_config = SettingsConfigDict(
        frozen=True,
        env_prefix="REMANENCE_",
        populate_by_name=True,
        env_ignore_empty=True,  # compose files pass on variables nobody has set
        extra="ignore",
    )

    dir: Path = Field(
        default=Path("~/.remanence"),
        validate_default=True,
        validation_alias=AliasChoices("REMANENCE_DIR", "LETTA_DIR"),
        description="Folder for the database, keys and model weights.",
    )
    database_url: str = Field(
        default="",
        validate_default=True,
        validation_alias=AliasChoices("REMANENCE_DATABASE_URL", "LETTA_PG_URI"),
        description="`postgresql://…`, or a SQLite file; by default one in the data folder.",
    )
    host: str = Field(
        default="127.0.0.1",
        description="Address to listen on.",
    )
    port: int = Field(
        default=8283,
        ge=0,
        le=65535,
        description="Port to listen on; 0 takes a free one.",
    )
    secure: bool = Field(
        default=False,
        validation_alias=AliasChoices("REMANENCE_SECURE", "SECURE"),
        description="Ask for a password even when none is set: one is made and shown at start.",
    )
    password: SecretStr | None = Field(
        default=None,
        validate_default=True,
        validation_alias=AliasChoices("REMANENCE_PASSWORD", "LETTA_SERVER_PASSWORD"),
        description="When set, every request must carry it, or a key.",
    )
    allow_open: bool = Field(
        default=False,
        description="Serve others than this machine although nobody is asked who he is.",
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=(),
        description="Origins whose pages may call this server from a browser; `*` for all.",
    )
    requests_per_minute: int | None = Field(
        default=None,
        ge=1,
        description="How often each key may ask, unless it has a limit of its own.",
    )
    audit_days: int = Field(
        default=90,
        ge=1,
        description="How many days the audit log goes back.",
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = Field(
        default="info",
        description="The least severe record that is logged.",
    )
    log_format: Annotated[Literal["text", "json"], BeforeValidator(_lower)] = Field(
        default="text",
        description="Lines for people, or one JSON object a line.",
    )
    traces: Annotated[Literal["off", "errors", "all"], BeforeValidator(_lower)] = Field(
        default="errors",
        description="Of which steps the exchange with the model is kept to the letter.",
    )
    trace_days: int = Field(
        default=7,
        ge=1,
        description="How many days such an exchange is kept.",
    )
    approval_expiry_s: float | None = Field(
        default=None,
        gt=0,
        description="After how many seconds a request nobody answered no longer stands in the way.",
    )
    missed_runs: Annotated[MissedRuns, BeforeValidator(_lower)] = Field(
        default="once",
        description="What becomes of scheduled messages whose time came while no server was up.",
    )
    missed_grace_s: int = Field(
        default=300,
        ge=0,
        description="How many seconds late a scheduled message may be and still not count as missed.",
    )
    batch_at_once: int = Field(
        default=8,
        ge=1,
        description="How many messages of a batch are worked on at the same time.",
    )
    drain_s: float = Field(
        default=25,
        ge=0,
        description="How long a server that is told to stop waits for what is under way.",
    )
    mcp_local: Annotated[Literal["auto", "on", "off"], BeforeValidator(_lower)] = Field(
        default="auto",
        description="Whether users may have MCP servers started here, or reached in this network.",
    )
    mcp_timeout_s: float = Field(
        default=180,
        gt=0,
        description="How long a tool of an MCP server may take.",
    )
    reach_private: Annotated[Literal["auto", "on", "off"], BeforeValidator(_lower)] = Field(
        default="auto",
        description="Whether callbacks, linked images and models at addresses that users name may lie in this network.",
    )
    sandbox_level: Annotated[Literal["auto", "namespaces", "landlock", "limits"], BeforeValidator(_lower)] = (
        Field(
            default="auto",
            description="How tools are fenced in: the best that this machine permits, or a lesser level.",
        )
    )
    sandbox_network: bool = Field(
        default=True,
        description="Whether tools may use the network; this machine and metadata addresses are closed to them.",
    )
    sandbox_timeout_s: float = Field(
        default=180,
        gt=0,
        le=3600,
        description="How long a tool may take.",
    )
    sandbox_memory_mb: int = Field(
        default=1024,
        ge=64,
        description="How much memory each process of a tool may use.",
    )
    sandbox_keep_days: int = Field(
        default=30,
        ge=1,
        description="After how many days without use installed packages are removed.",
    )
    max_file_mb: float = Field(
        default=30,
        gt=0,
        le=500,
        description="How large an uploaded file may be.",
    )
    file_timeout_s: float = Field(
        default=120,
        gt=0,
        le=1800,
        description="How long it may take to read an uploaded file.",
    )
    file_memory_mb: int = Field(
        default=1024,
        ge=256,
        description="How much memory the process that reads an uploaded file may use.",
    )
    tool_client: bool = Field(
        default=False,
        description="Whether every agent's tools may call this server; else those that hold `LETTA_API_KEY`.",
    )
    tool_client_url: str | None = Field(
        default=None,
        description="Where tools reach this server.",
    )
    fetch_private: bool = Field(
        default=False,
        description="Whether `fetch_webpage` may read pages of this machine and its network.",
    )
    exa_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("REMANENCE_EXA_API_KEY", "EXA_API_KEY"),
        description="Lets agents search the web with Exa.",
    )
    exa_base_url: str = Field(
        default="https://api.exa.ai",
        description="Another server that speaks the same API.",
    )
    tavily_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("REMANENCE_TAVILY_API_KEY", "TAVILY_API_KEY"),
        description="Lets agents search the web with Tavily.",
    )
    tavily_base_url: str = Field(
        default="https://api.tavily.com",
        description="Another server that speaks the same API.",
    )
    default_model: str | None = Field(
        default=None,
        description="Handle (`provider/model`) for agents that name none.",
    )
    default_embedding: str = Field(
        default="local/wordllama-256",
        description="Handle of the embedding model for agents and archives that name none; `off` for search by words alone.",
    )
    context_warning_share: float = Field(
        default=0.7,
        gt=0,
        le=1,
        description="How full the window is when an agent is told that room is getting scarce.",
    )
    context_full_share: float = Field(
        default=0.9,
        gt=0,
        le=1,
        description="How full the window is when older messages are summed up and leave it.",
    )
    context_evicted_share: float = Field(
        default=0.3,
        gt=0,
        lt=1,
        description="How much of a sliding window then leaves it, for agents that do not say.",
    )
    prompt_cache_s: float | None = Field(
        default=3600,
        ge=0,
        description="After so long without a call a prompt is in no provider's cache, and memory that has changed is compiled into it. Empty: never.",
    )
    local_model: Annotated[Literal["standard", "small", "off"], BeforeValidator(_lower)] = Field(
        default="standard",
        description="Which embedded model is offered.",
    )
    revisions_kept: int | None = Field(
        default=1000,
        ge=1,
        description="How many of its newest writes are kept of each memory block.",
    )
    revisions_kept_days: int | None = Field(
        default=None,
        ge=1,
        description="How long they are kept.",
    )
    find_local_models: bool = Field(
        default=True,
        description="Look for Ollama, LM Studio and llama.cpp on this machine when no provider is set.",
    )
    providers: dict[str, ProviderAccess] = Field(
        default_factory=dict[str, ProviderAccess],
        description="Providers of models by type; each has variables of its own (docs/guide/models.md).",
    )

    @model_validator(mode="before")
    @classmethod
    def _gather_providers(cls, values: dict[str, Any]) -> dict[str, Any]:
        """`openai_api_key=…` is short for the provider's entry."""
        given: dict[str, Any] = values.get("providers") or {}
        gathered: dict[str, dict[str, Any]] = {name: dict(access) for name, access in given.items()}
        rest: dict[str, Any] = {}
        for key, value in values.items():
            short = re.fullmatch(r"(\w+)_(api_key|base_url|api_version)", key)
            if short is not None and find_vendor(short[1]) is not None:
                gathered.setdefault(short[1], {})[short[2]] = value
            else:
                rest[key] = value
        return rest | {"providers": gathered}

    @field_validator("dir")
    @classmethod
    def _expand_home(cls, value: Path) -> Path:
        return value.expanduser()

    @field_validator("database_url")
    @classmethod
    def _fill_in_database(cls, value: str, info: ValidationInfo) -> str:
        if value:
            return normalise_database_url(value)
        # Absent when the folder itself was refused; that error is the one to show.
        folder: Path = info.data.get("dir", Path())
        return normalise_database_url(str(folder / DATABASE_FILE))

    @field_validator("password")
    @classmethod
    def _make_password(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if value is None and info.data.get("secure"):
            return SecretStr(secrets.token_urlsafe(18))
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _ProviderVariables(settings_cls)

    @property
    def allows_local_mcp(self) -> bool:
        return self._allows(self.mcp_local)

    @property
    def allows_private_targets(self) -> bool:
        return self._allows(self.reach_private)

    def _allows(self, choice: Literal["auto", "on", "off"]) -> bool:
        """By itself only where nobody but this machine can ask for it."""
        return choice == "on" or (choice == "auto" and self.is_private)

    @property
    def is_private(self) -> bool:
        """Whether it listens to this machine alone."""
        try:
            return self.host == "localhost" or ip_address(self.host).is_loopback
        except ValueError:  # another name, which may mean any address
            return False

    @property
    def is_open_to_others(self) -> bool:
        """Whether whoever reaches the address could do everything, and nobody said that this is meant."""
        return not self.is_private and self.password is None and not self.allow_open

    @property
    def password_was_made(self) -> bool:
        """Nobody knows the password yet, so it has to be shown."""
        return self.password is not None and "password" not in self.model_fields_set


class FixedSettings(Settings):
    """Settings that ignore the environment, for tests and for programs that embed the server."""

    find_local_models: bool = False

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)

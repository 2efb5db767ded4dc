"""MCP servers as an organisation knows them, and what is taken from their lists of tools."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from remanence.core.frozen import Frozen
from remanence.kit import json
from remanence.kit.ids import McpServerId, OrgId
from remanence.kit.json import JsonObject

McpServerType = Literal["stdio", "sse", "streamable_http"]

MAX_TOOLS = 512
"""A server that offers more is cut off there: nobody reads the rest, least of all a model."""
_MAX_SCHEMA_BYTES = 64_000
_MAX_DEPTH = 24
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\|\s*([^{}]*?)\s*)?\}\}")


class McpServer(Frozen):
    """Values may hold `{{ NAME }}` or `{{ NAME | default }}`, filled from the calling agent's secrets."""

    id: McpServerId
    organization_id: OrgId
    server_name: str
    mcp_server_type: McpServerType
    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] | None = None
    server_url: str | None = None
    auth_header: str | None = None
    auth_token: str | None = None
    custom_headers: dict[str, str] | None = None
    is_signed_in: bool = False
    """Somebody signed in to it (OAuth), and the tokens are kept."""

    @property
    def headers(self) -> dict[str, str]:
        given = dict(self.custom_headers or {})
        if self.auth_token:
            given[self.auth_header or "Authorization"] = self.auth_token
        return given

    def filled(self, values: Mapping[str, str]) -> "McpServer":
        """With every placeholder replaced. Raises KeyError with the name of one that has no value."""

        def fill(text: str | None) -> str | None:
            return _PLACEHOLDER.sub(lambda found: _value(found, values), text) if text else text

        def fill_all(texts: Mapping[str, str] | None) -> dict[str, str] | None:
            return {name: fill(text) or "" for name, text in texts.items()} if texts else None

        return self.model_copy(
            update={
                "env": fill_all(self.env),
                "auth_token": fill(self.auth_token),
                "custom_headers": fill_all(self.custom_headers),
            }
        )


def _value(found: re.Match[str], values: Mapping[str, str]) -> str:
    name, default = found.group(1), found.group(2)
    if name in values:
        return values[name]
    if default is None:
        raise KeyError(name)
    return default


class McpTool(Frozen):
    """A tool as its server describes it."""

    name: str
    description: str = ""
    input_schema: Annotated[JsonObject, Field(default_factory=dict)]
    is_idempotent: bool = False


def fault_of(tool: McpTool) -> str | None:
    """Why a tool is not taken; None if it is. What comes from a server is not to be trusted."""
    if not _NAME.fullmatch(tool.name):
        return "its name is not one that models can call"
    if tool.input_schema.get("type", "object") != "object":
        return "its arguments are not an object"
    if _depth(tool.input_schema) > _MAX_DEPTH:
        return f"its schema is nested more than {_MAX_DEPTH} deep"
    if len(json.encode(tool.input_schema)) + len(tool.description) > _MAX_SCHEMA_BYTES:
        return f"its description is larger than {_MAX_SCHEMA_BYTES} bytes"
    return None


def _depth(value: JsonObject) -> int:
    """Counted level by level, so that no schema can be deep enough to break the counting."""
    level: list[Any] = [value]
    depth = 0
    while level and depth <= _MAX_DEPTH:
        depth += 1
        inner: list[Any] = []
        for each in level:
            inner += each.values() if isinstance(each, dict) else each
        level = [each for each in inner if isinstance(each, (dict, list))]
    return depth

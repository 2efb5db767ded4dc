"""MCP servers on the wire."""

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Discriminator, Field, StringConstraints

from remanence.core.mcp import McpServer
from remanence.kit.ids import McpServerId, OrgId
from remanence.kit.json import JsonObject

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=128)]
HeaderText = Annotated[str, StringConstraints(pattern=r"^[\t\x20-\x7e]*$", max_length=16_384)]
"""What a header can hold."""
HeaderName = Annotated[str, StringConstraints(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", max_length=256)]


def _check_url(url: str) -> str:
    try:
        has_host = bool(urlsplit(url).hostname)
    except ValueError as error:
        raise ValueError(f"this is no web address: {error}") from None
    if not has_host:
        raise ValueError("this is no web address: it names no host")
    return url


Url = Annotated[
    str,
    StringConstraints(strip_whitespace=True, pattern=r"^https?://[^\s/]+", max_length=2048),
    AfterValidator(_check_url),
]


class StdioConfig(BaseModel):
    mcp_server_type: Literal["stdio"] = "stdio"
    command: Annotated[str, Field(min_length=1)]
    args: list[str] = []
    env: dict[str, str] | None = None


class _Remote(BaseModel):
    server_url: Url
    auth_header: HeaderName | Literal[""] | None = None
    auth_token: HeaderText | None = None
    custom_headers: dict[HeaderName, HeaderText] | None = None


class SseConfig(_Remote):
    mcp_server_type: Literal["sse"] = "sse"


class StreamableConfig(_Remote):
    mcp_server_type: Literal["streamable_http"] = "streamable_http"


Config = Annotated[StdioConfig | SseConfig | StreamableConfig, Discriminator("mcp_server_type")]


class McpServerCreate(BaseModel):
    server_name: Name
    config: Config


class McpServerUpdate(BaseModel):
    server_name: Name | None = None
    config: Config


class McpToolRun(BaseModel):
    args: JsonObject = {}


def to_server(id: McpServerId, organization_id: OrgId, name: str, config: Config) -> McpServer:
    given = config.model_dump() | {"id": id, "organization_id": organization_id, "server_name": name}
    return McpServer.model_validate(given)


def server_body(server: McpServer) -> dict[str, Any]:
    keys = (
        ("mcp_server_type", "command", "args", "env")
        if server.mcp_server_type == "stdio"
        else ("mcp_server_type", "server_url", "auth_header", "auth_token", "custom_headers")
    )
    body = server.model_dump()
    return {key: body[key] for key in keys} | {"id": server.id, "server_name": server.server_name}


def result_body(text: str, *, succeeded: bool) -> dict[str, Any]:
    return {
        "status": "success" if succeeded else "error",
        "func_return": text,
        "agent_state": None,
        "stdout": None,
        "stderr": None,
        "sandbox_config_fingerprint": None,
    }

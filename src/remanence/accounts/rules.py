"""Which role a route needs, as data: by method and by the route as it is written in the API's description.

What is not listed needs the role `read_only` to be read and `user` to be written.
"""

import re
from functools import cache
from typing import Any, cast

from remanence.core.access import Access, Role

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

READING = frozenset(
    {
        "POST /v1/agents/messages/search",
        "POST /v1/agents/search",
        "POST /v1/agents/{}/export",
        "POST /v1/agents/{}/messages/preview-raw-payload",
        "POST /v1/conversations/{}/messages/preview-raw-payload",
        "POST /v1/conversations/{}/stream",
        "POST /v1/messages/search",
        "POST /v1/passages/search",
        "POST /v1/runs/{}/stream",
        "POST /v1/tools/generate-schema",
        "POST /v1/tools/search",
        "POST /v1/session/",
        "DELETE /v1/session/",
    }
)
"""What only reads, although its method does not say so; and everybody may come and go."""

WRITING = frozenset({"GET /v1/mcp-servers/connect/{}"})
"""What does not only read, although its method says so: it signs in at another server."""

ADMINS_ALONE = (
    ("*", "/v1/admin/"),
    ("*", "/v1/audit/"),
    ("POST", "/v1/providers/"),  # with its address and its key: it is where conversations are sent
    ("PATCH", "/v1/providers/"),
    ("DELETE", "/v1/providers/"),
    ("PUT", "/v1/budgets/"),  # who may raise his own limit has none
    ("DELETE", "/v1/budgets/"),
)
"""By the beginning of the route."""

PROGRAMS = ("/v1/mcp-servers/", "/v1/tools/mcp/servers")
"""Where a body may name a program to be started on the server's machine, which is for admins as well."""

UNCONFINED = ("/v1/admin/",)
"""Spans organisations: not for the admins of one."""

EVERYBODYS = frozenset(
    {
        "GET /v1/models/",
        "GET /v1/models/embedding",
        "GET /v1/models/prices",
        "GET /v1/tools/",
        "GET /v1/tools/count",
        "GET /v1/tools/{}",
        "GET /v1/session/",
        "POST /v1/session/",
        "DELETE /v1/session/",
    }
)
"""What is nobody's in particular: open to keys for one project or agent as well."""

LASTING = frozenset({"DELETE /v1/agents/{}", "DELETE /v1/blocks/{}", "DELETE /v1/archives/{}"})
"""Not for keys of one agent: others may use these too, and the key would outlive what it is for."""


_PARAMETER = re.compile(r"\{[^}]*\}")


@cache
def plain(route: str) -> str:
    """A route as it is written here: the names of what varies do not matter."""
    return _PARAMETER.sub("{}", route)


@cache
def needed_role(method: str, route: str) -> Role:
    if any(of in ("*", method) and route.startswith(start) for of, start in ADMINS_ALONE):
        return "admin"
    return "read_only" if is_reading(method, route) else "user"


def starts_program(body: dict[str, Any]) -> bool:
    """Whether an MCP server is described that runs here, in the newer form or the older one."""
    parts = [body, *(cast("dict[str, Any]", each) for each in body.values() if isinstance(each, dict))]
    return any("command" in part for part in parts)


@cache
def is_reading(method: str, route: str) -> bool:
    name = f"{method} {route}"
    return name in READING or (method in SAFE and name not in WRITING)


@cache
def needed_access(method: str, route: str) -> Access:
    """What of an agent a route is about, in the words of access tokens."""
    is_talk = "/messages" in route or route.startswith(
        ("/v1/chat/", "/v1/conversations/", "/v1/runs/", "/v1/steps/")
    )
    if is_reading(method, route):
        return "read_messages" if is_talk else "read_agent"
    return "write_messages" if is_talk else "write_agent"

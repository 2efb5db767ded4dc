"""The door of a key for one project or agent.

Whatever ids a request names, in its address or in its body, must belong to it; and it must name one, since
what names none speaks of the whole organisation. What there is elsewhere is refused like what there is not.
"""

import re
from collections.abc import Iterator
from typing import Any, cast, get_args

from fastapi import Request
from fastapi._compat import ModelField
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from remanence.accounts import rules
from remanence.accounts.scopes import repository
from remanence.core.access import Grant, Scope
from remanence.db.database import Database
from remanence.errors import Forbidden
from remanence.kit import json
from remanence.kit.ids import id_pattern

_ID = re.compile(id_pattern("[a-z_-]+"))
_NEUTRAL = frozenset({"tool"})
"""What is the organisation's: it may be named beside something that is within."""


async def check_scope(db: Database, request: Request, grant: Grant, route: str) -> None:
    """Raises Forbidden."""
    name = f"{request.method} {route}"
    scopes = grant.parts
    if name in rules.EVERYBODYS:
        return
    refusal = Forbidden(f"This key {grant.describe()}, and nothing else; name what is in it.")
    if name in rules.LASTING and all(scope.type == "agent" for scope in scopes):
        raise refusal
    body = await read_body(request)
    ids = {
        *_ids_of(list(request.path_params.values())),
        *_ids_of([value for _, value in request.query_params.multi_items()]),
    }
    for key, value in body.items():
        if key.endswith(("_id", "_ids")) or key == "model":  # to OpenAI's clients an agent is a model
            ids |= set(_ids_of(cast("list[Any]", value) if isinstance(value, list) else [value]))
    projects = _projects(request, body)
    if any(not _is_own_project(scopes, each) for each in projects):
        raise refusal
    named = {each for each in ids if repository.kind_of(each) not in _NEUTRAL}
    scopes = _with_access(scopes, request.method, route)
    if not scopes or not await db.read(repository.are_within, grant.actor.organization_id, scopes, named):
        raise refusal
    if not _is_anchored(request, body, named, projects):
        raise refusal


def _with_access(scopes: tuple[Scope, ...], method: str, route: str) -> tuple[Scope, ...]:
    needed = rules.needed_access(method, route)
    return tuple(scope for scope in scopes if scope.access is None or needed in scope.access)


def _is_anchored(request: Request, body: dict[str, Any], named: set[str], projects: list[str]) -> bool:
    """Whether the request is about something of its own: one in its path, or a filter that the route obeys."""
    if any(value in named for value in request.path_params.values()):
        return True
    queried, told = _declared(request.scope["route"])
    given: dict[str, Any] = {
        **{key: value for key, value in request.query_params.multi_items() if key in queried},
        **{key: value for key, value in body.items() if key in told},
    }
    is_about_agent = given.get("agent_id") in named or given.get("model") in named
    return is_about_agent or (given.get("project_id") in projects and bool(projects))


def _projects(request: Request, body: dict[str, Any]) -> list[str]:
    """The projects that a request names; an empty or odd one is none of the key's either."""
    found = [value for key, value in request.query_params.multi_items() if key in ("project_id", "project")]
    if "project_id" in body:
        found.append(str(body["project_id"]))
    if "x-project-id" in request.headers:
        found.append(request.headers["x-project-id"])
    return found


def _is_own_project(scopes: tuple[Scope, ...], project: str) -> bool:
    return any(scope.type == "project" and scope.id == project for scope in scopes)


def _ids_of(values: list[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str) and _ID.match(value):
            yield value


async def read_body(request: Request) -> dict[str, Any]:
    """A JSON object's keys and values; empty for any other body."""
    if request.method in rules.SAFE or "form" in request.headers.get("content-type", ""):
        return {}
    try:
        body = json.decode(await request.body())
    except ValueError:
        return {}  # the route refuses it, if it wants one
    return cast("dict[str, Any]", body) if isinstance(body, dict) else {}


def _declared(route: APIRoute) -> tuple[set[str], set[str]]:
    """The names that a route reads from the query and from its body."""
    queried: set[str] = set()
    told: set[str] = set()
    waiting: list[Dependant] = [route.dependant]
    while waiting:
        each = waiting.pop()
        waiting += each.dependencies
        queried.update(*(_names(field) for field in each.query_params))
        told.update(*(_names(field) for field in each.body_params))
    return queried, told


def _names(field: ModelField) -> set[str]:
    """The name of a parameter, or those in it if it gathers several."""
    kind = field.field_info.annotation
    choices = [
        each for each in (kind, *get_args(kind)) if isinstance(each, type) and issubclass(each, BaseModel)
    ]
    return {name for each in choices for name in each.model_fields} if choices else {field.alias}

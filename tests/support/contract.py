"""The contract's own word for each answer: calls are noted as they go by, and held against it."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from jsonschema import Draft202012Validator
from letta_client import Letta
from tests.support import mcp_tiny
from tests.support.tenants import Tenant

from remanence.kit import json
from remanence.kit.json import JsonObject

REFUSED = {
    "PATCH /v1/agents/{agent_id}/messages/{message_id}": 405,
    "PATCH /v1/groups/{group_id}/messages/{message_id}": 405,
    "POST /v1/voice-beta/{agent_id}/chat/completions": 410,
}
"""Known to clients, and answered with a refusal whatever they ask."""
_OTHERWISE = {"GET /v1/agents/{agent_id}/export", "POST /v1/agents/{agent_id}/export"}
"""Said to be a text, and an object in the traffic that was recorded."""
TINY_MCP: JsonObject = {
    "mcp_server_type": "stdio",
    "command": sys.executable,
    "args": ["-S", mcp_tiny.__file__],
    "env": {"STUB_TOKEN": "hush"},
}
_FOLDER = Path(__file__).parents[1] / "e2e"


@dataclass(frozen=True)
class ContractOperation:
    priority: str
    area: str
    method: str
    path: str
    sdk_method: str | None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def read_contract() -> Iterator[ContractOperation]:
    """All that clients of the retired server know."""
    lines = (_FOLDER / "contract_operations.txt").read_text(encoding="utf-8").splitlines()[1:]
    for line in lines:
        priority, area, method, path, sdk_method = line.split()
        yield ContractOperation(priority, area, method, path, None if sdk_method == "-" else sdk_method)


@dataclass
class Witness:
    """Stands between clients and server, and knows which operation each request is."""

    problems: list[str] = field(default_factory=list[str])
    called: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Operations that were called, each with the SDK's method that did."""
    speaking: str | None = None

    def note(self, response: httpx.Response) -> None:
        operation = find_operation(response.request.method, response.request.url.path)
        if operation is None or response.is_redirect:
            return
        self.called[operation] = self.speaking or self.called.get(operation)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            content = response.read()
            expected = REFUSED.get(operation, _answers()["answers"][operation]["status"])
            if response.status_code != expected:
                self.problems.append(f"{operation}: {response.status_code} {content[:300]!r}")
            else:
                self.problems += breaches(operation, content)


def breaches(operation: str, content: bytes) -> list[str]:
    """Where an answer that went well has another shape than the contract gives it."""
    entry = _answers()["answers"].get(operation)
    if entry is None or not entry["schema"] or operation in _OTHERWISE | REFUSED.keys():
        return []
    found: list[Any] = sorted(_validator(operation)(json.decode(content)), key=str)
    return [f"{operation}: {_tell(error)}" for error in found[:3]]


@dataclass
class Caller:
    """Calls operations, by the SDK's methods or by their paths."""

    sdk: Letta
    http: httpx.Client
    witness: Witness

    def by_sdk(self, method: str, *args: Any, **given: Any) -> Any:
        """Pages are turned to their end, streams read to theirs."""
        target: Any = self.sdk
        for name in method.split("."):
            target = getattr(target, name)
        self.witness.speaking = method
        try:
            with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
                answer = target(*args, **given)
            if hasattr(answer, "__next__") or hasattr(answer, "iter_pages"):
                return list(answer)
            return answer
        finally:
            self.witness.speaking = None

    def by_path(self, method: str, path: str, **request: Any) -> Any:
        response = self.http.request(method, f"/v1{path}", **request)
        is_json = response.headers.get("content-type", "").startswith("application/json")
        return response.json() if response.content and is_json else None


def watched(tenant: Tenant) -> Caller:
    witness = Witness()
    hooks = {"response": [witness.note]}
    sdk = tenant.house.sdk(
        http_client=httpx.Client(verify=False, event_hooks=hooks), user_id=tenant.actor.user_id
    )
    http = tenant.house.plain(user_id=tenant.actor.user_id)
    http.event_hooks = hooks
    return Caller(sdk, http, witness)


def sdk_method_of(operation: str) -> str | None:
    return next(each.sdk_method for each in read_operations_once() if str(each) == operation)


def find_operation(method: str, path: str) -> str | None:
    """The operation of the contract that a request is: the one with the most words of its own among those that fit."""
    parts = path.split("/")
    fitting = [
        operation
        for operation in read_operations_once()
        if operation.method == method and _fits(operation.path.split("/"), parts)
    ]
    return str(min(fitting, key=lambda each: each.path.count("{"))) if fitting else None


def _fits(pattern: list[str], parts: list[str]) -> bool:
    return len(pattern) == len(parts) and all(
        (each.startswith("{") and part != "") or each == part
        for each, part in zip(pattern, parts, strict=True)
    )


@cache
def read_operations_once() -> tuple[ContractOperation, ...]:
    return tuple(read_contract())


@cache
def _answers() -> JsonObject:
    """More keys than the contract has do no harm; there is one more provider, the one inside."""
    answers = json.decode((_FOLDER / "contract_answers.json").read_bytes())
    answers["components"]["schemas"]["ProviderType"]["enum"].append("local")
    return answers


@cache
def _validator(operation: str) -> Callable[[Any], Iterable[Any]]:
    entry = _answers()["answers"][operation]
    validator: Any = Draft202012Validator(entry["schema"] | {"components": _answers()["components"]})
    return validator.iter_errors


def _tell(error: Any) -> str:
    """Of an answer that fits none of several shapes, what keeps it from the one it fits best."""
    while error.context:
        error = max(error.context, key=lambda each: len(each.absolute_path))
    place = "/".join(str(each) for each in error.absolute_path)
    return f"at {place or 'the top'}: {error.message[:300]}"

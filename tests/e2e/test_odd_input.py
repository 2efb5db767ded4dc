"""Odd input: wrong types, endless texts and numbers, what is almost JSON. Never a 500, whatever the route."""

import random
from collections.abc import Iterator
from itertools import count
from time import monotonic, sleep
from urllib.parse import quote

import pytest
from tests.support.operations import NOBODY, UNKNOWN, Operation, read_operations
from tests.support.sandboxes import sandbox_names
from tests.support.script import says
from tests.support.scripted_model import ScriptedModel
from tests.support.tenants import Tenant

from remanence.kit import json
from remanence.kit.json import JsonObject

JSON = {"content-type": "application/json"}

_dice = random.Random(7)
LONG = "".join(_dice.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=3000))
"""Long, and not to be compressed: an index refuses it."""

NO_JSON = [
    b"{bad",
    b"\xff\xfe",
    b'{"x": NaN}',
    b'{"x": Infinity}',
    b'{"x": 1e400}',
    b'{"x": 123456789012345678901234567890}',
    b'{"x": "\\u0000"}',
    b'{"\\u0000": 1}',
    b'{"x": "\\ud800"}',
    b'{"\\udfff": 1}',
    b'{"x": ' + b"[" * 300 + b"]" * 300 + b"}",
    b"[" * 50_000,
]
"""What must be refused as it is, by every route that takes a body."""

ODD_BODIES = ["null", "[]", "{}", "0", '"text"', "true", "[{}]", '{"":null}']
ODD_VALUES = [
    "-1",
    "2147483648",
    "9223372036854775808",
    '""',
    f'"{LONG}"',
    f'["{LONG}"]',
    f'{{"k":"{LONG}"}}',
    "[null]",
    "{}",
    '"0001-01-01T00:00:00+14:00"',
]
ODD_QUERIES = ["", "-1", "2147483648", "99999999999999999999", LONG, "%'😀", f"agent-{NOBODY}"]


@pytest.fixture
def talkative(tenant: Tenant, shared_model: ScriptedModel) -> Iterator[Tenant]:
    """A model that answers whatever comes; what was started is waited for."""
    shared_model.responder = lambda _: says("Well.")
    yield tenant
    deadline = monotonic() + 20
    while tenant.http.get("/v1/runs/active").json() and monotonic() < deadline:
        sleep(0.02)
    shared_model.responder = None


def names_for(tenant: Tenant) -> dict[str, str]:
    agent = tenant.agent(memory_blocks=[{"label": "human", "value": "x"}])
    conversation = tenant.http.post("/v1/conversations/", params={"agent_id": agent["id"]}, json={}).json()
    archive = tenant.http.post("/v1/archives/", json={"name": "notes"}).json()
    folder = tenant.http.post("/v1/folders/", json={"name": "papers"}).json()
    template = {"type": "agent", "agent_id": agent["id"], "name": "odd"}
    assert tenant.http.post("/v1/templates", json=template).status_code == 201
    return UNKNOWN | {
        "folder_id": folder["id"],
        "folder_name": "papers",
        "template_name": "odd",
        "template_version": "odd:latest",
        "archive_id": archive["id"],
        "agent_id": agent["id"],
        "block_id": agent["blocks"][0]["id"],
        "block_label": "human",
        "tool_id": agent["tools"][0]["id"],
        "tool_name": agent["tools"][0]["name"],
        "message_id": agent["message_ids"][0],
        "conversation_id": conversation["id"],
        "handle": "openai/nobody",
        **sandbox_names(tenant.http),
    }


def in_turn(values: list[str], turn: int) -> list[str]:
    """Every third, others each time: what a field takes amiss the fields beside it would take amiss as well."""
    return values[turn % 3 :: 3]


def send(tenant: Tenant, operation: Operation, path: str, body: str | bytes) -> int:
    """The status of an answer, which must not be a 500."""
    answer = tenant.http.request(operation.method, path, content=body, headers=JSON)
    assert answer.status_code < 500, f"{operation} with {body[:100]!r}: {answer.text[:300]}"
    return answer.status_code


def with_bodies(tenant: Tenant) -> list[Operation]:
    return [each for each in read_operations(tenant.http) if each.fields is not None]


@pytest.mark.promise("doors.odd-bodies")
def test_what_is_no_json_is_refused_by_every_route(talkative: Tenant) -> None:
    names = names_for(talkative)
    for operation in with_bodies(talkative):
        path = operation.path.format(**names)
        for body in NO_JSON:
            assert send(talkative, operation, path, body) == 422, f"{operation} with {body[:100]!r}"


@pytest.mark.promise("doors.odd-bodies")
def test_json_of_the_wrong_shape_never_breaks_a_route(talkative: Tenant) -> None:
    names = names_for(talkative)
    for operation in with_bodies(talkative):
        path = operation.path.format(**names)
        for body in ODD_BODIES:
            send(talkative, operation, path, body)


@pytest.mark.promise("doors.odd-fields")
def test_odd_values_in_any_field_never_break_a_route_or_a_list(talkative: Tenant) -> None:
    enough: JsonObject = {"label": "l", "value": "v", "model": "openai/gpt-4o-mini", "name": "n", "text": "t"}
    enough |= {"identifier_key": "k", "identity_type": "user"}
    names = names_for(talkative)
    turns = count()
    for operation in with_bodies(talkative):
        path = operation.path.format(**names)
        is_new = operation.path in (
            "/v1/agents/",
            "/v1/blocks/",
            "/v1/archives/",
            "/v1/identities/",
            "/v1/folders/",
        )
        for field in operation.fields or ():
            for value in in_turn(ODD_VALUES, next(turns)):
                rest = {
                    key: text for key, text in enough.items() if (is_new or key == "text") and key != field
                }
                given = [f"{json.encode_text(field)}:{value}"]
                given += [f'"{key}":{json.encode_text(text)}' for key, text in rest.items()]
                send(talkative, operation, path, "{" + ",".join(given) + "}")
    for path in (
        "/v1/agents/?limit=1000",
        "/v1/blocks/?limit=1000",
        "/v1/archives/?limit=1000",
        "/v1/identities/?limit=1000",
        "/v1/folders/?limit=1000",
        "/v1/messages/",
        "/v1/runs/",
    ):
        assert talkative.http.get(path).status_code == 200, path


@pytest.mark.promise("doors.odd-queries")
def test_odd_parameters_never_break_a_route(talkative: Tenant) -> None:
    names = names_for(talkative)
    turns = count()
    operations = read_operations(talkative.http)
    for operation in sorted(operations, key=lambda each: each.method == "DELETE"):  # what they need stays
        body: JsonObject | None = None if operation.fields is None else {}
        path = operation.path.format(**names)
        for value in in_turn(ODD_QUERIES, next(turns)):
            asked = [(path, {name: value}) for name in operation.names("query")]
            for name in operation.names("path"):
                odd = names | {name: quote(value, safe="")}
                asked.append((operation.path.format(**odd), {}))
            for where, query in asked:
                answer = talkative.http.request(operation.method, where, params=query, json=body)
                assert answer.status_code < 500, f"{operation}, {where} {query}: {answer.text[:300]}"


@pytest.mark.promise("doors.odd-queries")
def test_no_address_may_hold_a_nul(tenant: Tenant) -> None:
    agent = tenant.agent()
    for path in ("agents/?name=%00", "tags/?after=a%00b", f"agents/{agent['id']}/core-memory/blocks/%00"):
        answer = tenant.http.get(f"/v1/{path}")
        assert answer.status_code == 422
        assert answer.json()["request_id"] == answer.headers["x-request-id"]


@pytest.mark.promise("doors.odd-bodies")
def test_a_backslash_before_an_escape_is_a_backslash(tenant: Tenant) -> None:
    text = "the escape \\u0000 and the number 12345678901234567890123"
    assert tenant.block("escapes", text)["value"] == text
    path = f"/v1/blocks/{tenant.block('large', 'x')['id']}"
    largest = {"metadata": {"n": 2**64 - 1, "m": -(2**63), "f": 1.5e300}}
    assert tenant.http.patch(path, json=largest).json()["metadata"] == largest["metadata"]
    nested: JsonObject = {}
    for _ in range(90):
        nested = {"n": nested}
    assert tenant.http.patch(path, json={"metadata": nested}).json()["metadata"] == nested

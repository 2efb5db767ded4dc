"""Whatever fits the API's own description is answered: never by an error of the server's, and in the shape that
the contract gives the answer. `make fuzz` tries more of it, elsewhere each time, on both databases."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from tests.conftest import BOTH
from tests.e2e.test_odd_input import names_for
from tests.support.contract import breaches, find_operation
from tests.support.databases import Databases
from tests.support.script import says
from tests.support.scripted_model import ScriptedModel
from tests.support.tenants import SharedHouse, Tenant

from remanence.app import create_app
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.settings import FixedSettings

EXAMPLES = int(os.environ.get("REMANENCE_FUZZ", "0"))
FEW = 2
AREAS = ("agents", "blocks", "tools", "conversations", "folders", "mcp-servers", "rest")
SLOW = {"POST /v1/tools/run", "POST /v1/agents/{agent_id}/tools/{tool_name}/run"}
"""They start processes; other tests feed them."""


@pytest.fixture(scope="module", params=BOTH if EXAMPLES else ["sqlite"])
def quiet_house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel
) -> Iterator[SharedHouse]:
    """A server of its own, which starts no programs and reaches nobody inside for its users."""
    databases: Databases = request.getfixturevalue(f"{request.param}_databases")
    house = SharedHouse(
        databases.fresh(),
        tmp_path_factory.mktemp("fuzz"),
        openai_api_key="sk-test",
        openai_base_url=shared_model.base_url,
        mcp_local="off",
        reach_private="off",
    )
    shared_model.responder = lambda _: says("Well.")
    with house:
        yield house
    shared_model.responder = None


@pytest.fixture
def tenant(quiet_house: SharedHouse) -> Iterator[Tenant]:
    newcomer = quiet_house.new_tenant()
    yield newcomer
    newcomer.close()


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> JsonObject:
    return create_app(FixedSettings(dir=tmp_path_factory.mktemp("app"), local_model="off")).openapi()


@pytest.mark.timeout(0 if EXAMPLES else 120)
@pytest.mark.promise("contract.fuzz")
@pytest.mark.parametrize("area", AREAS)
def test_what_fits_the_description_is_answered(area: str, tenant: Tenant, description: JsonObject) -> None:
    schema: Any = schemathesis.openapi.from_dict(description)
    operations: list[Any] = [found.ok() for found in schema.get_all_operations()]
    names = names_for(tenant)
    problems: list[str] = []
    for operation in sorted(
        operations, key=lambda each: each.method.upper() == "DELETE"
    ):  # what is there stays
        if _area_of(operation.path) == area and operation.label not in SLOW:
            problems += _try(operation, tenant, names)
    assert not problems, "\n".join(problems)


def _try(operation: Any, tenant: Tenant, names: dict[str, str]) -> list[str]:
    problems: list[str] = []

    @settings(
        max_examples=EXAMPLES or FEW,
        derandomize=not EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(case=operation.as_strategy())
    def call(case: Any) -> None:
        varying: dict[str, Any] = case.path_parameters or {}
        case.path_parameters = varying | {name: names[name] for name in varying.keys() & names.keys()}
        headers = {"user_id": tenant.actor.user_id, "user-agent": "curl/8"}
        answer = case.call(base_url=tenant.house.server.base_url, headers=headers, timeout=30)
        problem = _problem(
            case, answer.status_code, "".join(answer.headers.get("content-type", ())), answer.content
        )
        if problem:
            problems.append(f"{operation.label} {case.query} {case.body!s:.600}: {problem}")

    call()
    return problems


def _problem(case: Any, status: int, kind: str, content: bytes) -> str | None:
    if not kind.startswith("application/json") or not content:
        return None if status < 500 else f"{status} {content[:300]!r}"
    if status >= 500:
        # Somebody else's error, told as such, is an answer.
        error = json.decode(content).get("error", {})
        return (
            None if str(error.get("type", "")).startswith(("llm_", "mcp_")) else f"{status} {content[:300]!r}"
        )
    operation = find_operation(case.method, case.operation.path)
    if status >= 300 or operation is None:
        return None
    return "; ".join(breaches(operation, content)) or None


def _area_of(path: str) -> str:
    word = path.split("/")[2]
    return word if word in AREAS else "rest"

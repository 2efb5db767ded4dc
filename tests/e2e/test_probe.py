"""What a model can do is found out by asking it."""

from typing import Any

import pytest
from tests.support.scripted_model import ScriptedModel, SeenRequest, calls, says
from tests.support.tenants import Tenant


def able(seen: SeenRequest) -> Any:
    """Does whatever it is asked."""
    asked = seen.last_user
    if seen.tool_returns:
        return says("It hails, at 17 degrees.")
    if "both at once" in asked:
        return calls("get_weather", city="Oslo") + calls("get_weather", city="Rome")
    if "weather" in asked:
        return calls("get_weather", city="Oslo")
    if "Quotes" in asked:
        return calls("save_note", title="Quotes", lines=['She said "hi" \\ and left.', "Größe: 5 ½"])
    if seen.body.get("response_format"):
        return says('{"city": "Rome", "people": 2800000}')
    if seen.body.get("tool_choice") not in (None, "auto"):
        return calls("save_note", title="Hello", lines=[])
    return says("one, two, …, ten")


def chatty(seen: SeenRequest) -> Any:
    return says("Certainly! One to ten, it is sunny in Oslo.")


@pytest.mark.promise("models.probe")
@pytest.mark.parametrize(("answer", "passes"), [(able, 7), (chatty, 1)])
def test_a_probe_tells_what_a_model_can_do(
    tenant: Tenant, shared_model: ScriptedModel, answer: Any, passes: int
) -> None:
    shared_model.responder = answer
    try:
        found = tenant.http.post("/v1/models/openai/gpt-4o-mini/probe").json()
    finally:
        shared_model.forget()
    assert found["handle"] == "openai/gpt-4o-mini"
    assert [each["passed"] for each in found["tasks"]].count(True) == passes, found
    assert found["suits"]["agent_type"] == ("any" if passes == 7 else None)
    assert found["first_token_s"] is not None


@pytest.mark.promise("models.probe")
def test_a_model_that_nobody_has_cannot_be_probed(tenant: Tenant) -> None:
    assert tenant.http.post("/v1/models/nobody/model/probe").status_code == 404
    assert tenant.http.post("/v1/models/nonsense/probe").status_code == 400


@pytest.mark.promise("models.prices")
def test_prices_are_told_where_they_are_known(tenant: Tenant) -> None:
    prices = tenant.http.get("/v1/models/prices").json()
    handles = {each["handle"] for each in tenant.http.get("/v1/models/").json()}
    assert set(prices) <= handles
    assert prices["openai/gpt-4o-mini"]["prompt"] < prices["openai/gpt-4o-mini"]["completion"]

"""What models cost, what may be spent, and who steps in for whom."""

from typing import Any

import pytest
from tests.support.scripted_model import ScriptedModel, fails, says
from tests.support.tenants import SharedHouse, Tenant

# The published price of gpt-4o-mini: 0.15 and 0.60 dollars per million tokens, half for what is cached.
COST = (9_000 * 0.15 + 1_000 * 0.075 + 1_000 * 0.60) / 1e6


@pytest.fixture
def model(shared_model: ScriptedModel) -> ScriptedModel:
    shared_model.journal.clear()
    return shared_model


def costly() -> Any:
    return says("Dear words.").counting(prompt=10_000, completion=1_000, cached=1_000)


def send(tenant: Tenant, agent_id: str) -> Any:
    return tenant.http.post(f"/v1/agents/{agent_id}/messages", json={"input": "Hi"})


@pytest.mark.promise("money.cost", "money.usage")
def test_costs_are_told_of_steps_runs_and_sums(tenant: Tenant, model: ScriptedModel) -> None:
    agent, other = tenant.agent(), tenant.agent()
    model.script(costly(), costly())
    sent = send(tenant, agent["id"]).json()
    send(tenant, other["id"])
    run_id = sent["messages"][0]["run_id"]
    step = tenant.http.get(f"/v1/runs/{run_id}/steps").json()[0]
    assert step["cost_usd"] == pytest.approx(COST)
    assert tenant.http.get(f"/v1/runs/{run_id}/usage").json()["cost_usd"] == pytest.approx(COST)

    total = tenant.http.get("/v1/usage/").json()
    assert total["cost_usd"] == pytest.approx(2 * COST)
    assert (total["step_count"], total["prompt_tokens"], total["cache_hit_rate"]) == (2, 20_000, 0.1)
    by_agent = tenant.http.get("/v1/usage/", params={"group_by": "agent"}).json()
    assert {each["agent"]: each["step_count"] for each in by_agent} == {agent["id"]: 1, other["id"]: 1}
    one = tenant.http.get("/v1/usage/", params={"agent_id": agent["id"], "group_by": "model"}).json()
    assert [(each["model"], each["step_count"]) for each in one] == [("openai/gpt-4o-mini", 1)]
    [day] = tenant.http.get("/v1/usage/", params={"group_by": "day", "start": "2020-01-01"}).json()
    assert day["day"] == step_day(tenant, run_id)
    assert tenant.http.get("/v1/usage/", params={"end": "2020-01-01"}).json()["cost_usd"] == 0


def step_day(tenant: Tenant, run_id: str) -> str:
    return tenant.http.get(f"/v1/runs/{run_id}").json()["created_at"][:10]


@pytest.mark.promise("money.budgets")
def test_a_spent_budget_stops_its_own_runs(tenant: Tenant, model: ScriptedModel) -> None:
    thrifty, free = tenant.agent(), tenant.agent()
    budget = {"agent_id": thrifty["id"], "limit_usd": COST / 2, "period": "day"}
    made = tenant.http.put("/v1/budgets/", json=budget).json()
    assert (made["limit_usd"], made["spent_usd"]) == (pytest.approx(COST / 2), 0)
    model.script(costly(), says("I have no budget."))
    assert send(tenant, thrifty["id"]).status_code == 200
    raised = tenant.http.put("/v1/budgets/", json=budget | {"limit_usd": COST / 3}).json()
    assert raised["id"] == made["id"]
    assert raised["spent_usd"] == pytest.approx(COST)

    refused = send(tenant, thrifty["id"])
    assert refused.status_code == 402
    assert refused.json()["error"]["type"] == "llm_insufficient_credits"
    assert "budget of this agent for today" in refused.json()["error"]["message"]
    last = tenant.http.get("/v1/runs/", params={"agent_id": thrifty["id"], "limit": 1}).json()[0]
    assert last["stop_reason"] == "insufficient_credits"
    assert send(tenant, free["id"]).status_code == 200

    tenant.http.put("/v1/budgets/", json={"limit_usd": COST / 2})
    assert "budget of the organisation" in send(tenant, free["id"]).json()["error"]["message"]
    for each in tenant.http.get("/v1/budgets/").json():
        assert tenant.http.delete(f"/v1/budgets/{each['id']}").status_code == 200
    model.script(says("Free again."))
    assert send(tenant, thrifty["id"]).status_code == 200
    model.verify()


@pytest.mark.promise("money.errors")
def test_budgets_that_make_no_sense_are_refused(tenant: Tenant, house: SharedHouse) -> None:
    agent = tenant.agent()
    stranger = house.new_tenant()
    made = tenant.http.put("/v1/budgets/", json={"limit_usd": 1}).json()
    for body in ({"limit_usd": 0}, {"limit_usd": -1}, {}, {"limit_usd": 1, "period": "year"}):
        assert tenant.http.put("/v1/budgets/", json=body).status_code == 422
    theirs = {"agent_id": agent["id"], "limit_usd": 1}
    assert stranger.http.put("/v1/budgets/", json=theirs).status_code == 404
    assert stranger.http.delete(f"/v1/budgets/{made['id']}").status_code == 404
    assert stranger.http.get("/v1/budgets/").json() == []
    assert len(tenant.http.get("/v1/budgets/").json()) == 1
    stranger.close()


@pytest.mark.promise("models.fallback")
def test_the_next_model_steps_in_for_one_that_is_out_of_reach(tenant: Tenant, model: ScriptedModel) -> None:
    agent = tenant.agent(
        model_settings={"provider_type": "openai", "fallback_models": ["openai/nobody", "openai/gpt-4o"]}
    )
    assert agent["llm_config"]["fallback_models"] == ["openai/nobody", "openai/gpt-4o"]
    tenant.http.patch(
        f"/v1/agents/{agent['id']}",
        json={"model_settings": {"provider_type": "openai", "fallback_models": ["openai/gpt-4o"]}},
    )
    model.script(fails(401), says("Here I am."), says("And again."))
    sent = send(tenant, agent["id"])
    assert sent.json()["messages"][-1]["content"] == "Here I am."
    assert [seen.model for seen in model.journal] == ["gpt-4o-mini", "gpt-4o"]
    run_id = sent.json()["messages"][0]["run_id"]
    step = tenant.http.get(f"/v1/runs/{run_id}/steps").json()[0]
    assert (step["model"], step["model_handle"]) == ("gpt-4o", "openai/gpt-4o")
    send(tenant, agent["id"])
    assert model.last.model == "gpt-4o-mini"
    model.verify()

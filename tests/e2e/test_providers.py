"""Providers that an organisation brings itself."""

from typing import Any

import pytest
from sqlalchemy import Connection, text
from tests.support.scripted_model import ScriptedModel, says
from tests.support.tenants import SharedHouse, Tenant


@pytest.fixture
def given(shared_model: ScriptedModel) -> dict[str, Any]:
    return {
        "name": "my-claude",
        "provider_type": "anthropic",
        "api_key": "sk-my-secret",
        "base_url": shared_model.base_url.removesuffix("/v1"),
    }


def create(tenant: Tenant, given: dict[str, Any], **changes: Any) -> dict[str, Any]:
    response = tenant.http.post("/v1/providers/", json=given | changes)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.promise("providers.crud")
def test_providers_are_made_listed_changed_and_deleted(tenant: Tenant, given: dict[str, Any]) -> None:
    made = create(tenant, given)
    other = create(tenant, given, name="another", provider_type="groq")
    assert tenant.http.get(f"/v1/providers/{made['id']}").json() == made
    assert [each["id"] for each in tenant.http.get("/v1/providers/").json()] == [other["id"], made["id"]]
    named = tenant.http.get("/v1/providers/", params={"name": "my-claude", "provider_type": "anthropic"})
    assert [each["id"] for each in named.json()] == [made["id"]]
    changed = tenant.http.patch(
        f"/v1/providers/{made['id']}", json={"api_key": "sk-new", "base_url": "https://elsewhere.example"}
    ).json()
    assert changed["base_url"] == "https://elsewhere.example"
    assert tenant.http.post("/v1/providers/", json=given).status_code == 409
    assert tenant.http.delete(f"/v1/providers/{made['id']}").status_code == 200
    assert tenant.http.get(f"/v1/providers/{made['id']}").status_code == 404
    assert tenant.http.delete(f"/v1/providers/{made['id']}").status_code == 404


@pytest.mark.promise("providers.secret")
def test_keys_are_kept_encrypted_and_shown_to_nobody(
    tenant: Tenant, house: SharedHouse, given: dict[str, Any]
) -> None:
    made = create(tenant, given, access_key="sk-access")
    assert made["api_key"] is made["api_key_enc"] is made["access_key"] is made["access_key_enc"] is None
    assert "sk-" not in tenant.http.get("/v1/providers/").text

    def stored(connection: Connection) -> str:
        row = connection.execute(
            text("SELECT api_key_enc, access_key_enc FROM providers WHERE id = :id"), {"id": made["id"]}
        ).one()
        return f"{row[0]} {row[1]}"

    assert "sk-" not in house.read(stored)


@pytest.mark.promise("providers.errors")
@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"provider_type": "nobody"}, 400),
        ({"name": "has/slash"}, 422),
        ({"name": ""}, 422),
        ({"base_url": "ftp://host"}, 400),
        ({"api_key": None}, 422),
        ({"provider_type": "azure", "base_url": None}, 400),
        ({"provider_type": "bedrock", "base_url": None}, 400),
        ({"provider_type": "google_vertex", "base_url": None, "api_key": "{}", "region": "here"}, 400),
    ],
)
def test_what_cannot_work_is_refused(
    tenant: Tenant, given: dict[str, Any], changes: dict[str, Any], status: int
) -> None:
    assert tenant.http.post("/v1/providers/", json=given | changes).status_code == status
    assert tenant.http.get("/v1/providers/").json() == []


@pytest.mark.promise("providers.check")
def test_a_key_can_be_tried(tenant: Tenant, shared_model: ScriptedModel, given: dict[str, Any]) -> None:
    made = create(tenant, given)
    asked = {key: value for key, value in given.items() if key != "name"}
    assert "accepts the key" in tenant.http.post("/v1/providers/check", json=asked).json()["message"]
    assert tenant.http.post(f"/v1/providers/{made['id']}/check").status_code == 200
    shared_model.models_status = 401
    try:
        refused = tenant.http.post(f"/v1/providers/{made['id']}/check")
        assert tenant.http.post("/v1/providers/check", json=asked).status_code == 401
    finally:
        shared_model.models_status = 200
    assert refused.status_code == 401
    assert refused.json()["error"]["type"] == "llm_authentication"
    assert "sk-my-secret" not in refused.text


@pytest.mark.promise("providers.models")
def test_its_models_can_be_talked_to_by_its_organisation_alone(
    tenant: Tenant, house: SharedHouse, shared_model: ScriptedModel, given: dict[str, Any]
) -> None:
    made = create(tenant, given)
    shared_model.models.append({"id": "claude-sonnet-4-5"})
    synced = tenant.http.patch(f"/v1/providers/{made['id']}/refresh").json()
    assert synced["last_synced"] is not None
    listed = tenant.http.get("/v1/models/", params={"provider_category": "byok"}).json()
    shared_model.models.pop()
    assert "my-claude/claude-sonnet-4-5" in [each["handle"] for each in listed]

    agent = tenant.agent(model="my-claude/claude-sonnet-4-5")
    assert agent["llm_config"]["model_endpoint_type"] == "anthropic"
    assert agent["model_settings"]["thinking"] == {"type": "enabled", "budget_tokens": 1024}
    shared_model.journal.clear()
    shared_model.script(says("Hello."))
    sent = tenant.http.post(f"/v1/agents/{agent['id']}/messages", json={"input": "Hi"})
    assert sent.json()["messages"][-1]["content"] == "Hello."
    assert shared_model.last.headers["x-api-key"] == "sk-my-secret"
    assert shared_model.last.path == "/v1/messages"

    stranger = house.new_tenant()
    assert stranger.http.get("/v1/models/", params={"provider_category": "byok"}).json() == []
    assert stranger.http.get(f"/v1/providers/{made['id']}").status_code == 404
    assert stranger.http.patch(f"/v1/providers/{made['id']}", json={"api_key": "x"}).status_code == 404
    refused = stranger.http.post("/v1/agents/", json={"model": "my-claude/claude-sonnet-4-5"})
    assert refused.status_code == 404
    stranger.close()

    tenant.http.delete(f"/v1/providers/{made['id']}")
    gone = tenant.http.post(f"/v1/agents/{agent['id']}/messages", json={"input": "Hi"})
    assert gone.status_code == 500
    assert "is gone" in gone.text
    shared_model.verify()


@pytest.mark.promise("providers.embeddings")
def test_an_archive_is_embedded_by_a_provider_of_its_organisation(
    tenant: Tenant, given: dict[str, Any], shared_model: ScriptedModel
) -> None:
    create(tenant, given, name="mine", provider_type="openai")
    handle = "mine/text-embedding-3-small"
    archive = tenant.http.post("/v1/archives/", json={"name": "notes", "embedding": handle}).json()
    passages = f"/v1/archives/{archive['id']}/passages"
    kept = tenant.http.post(passages, json={"text": "Quinces, from the garden"}).json()
    assert kept["embedding_config"]["handle"] == handle
    assert len(kept["embedding"]) == 64
    assert ["Quinces, from the garden"] in shared_model.embedded

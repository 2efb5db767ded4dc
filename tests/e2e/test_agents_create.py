"""Making agents: who they are, what they hold, what they say first; and that a refused one leaves nothing."""

from typing import Any

import pytest
from letta_client import BadRequestError, UnprocessableEntityError
from letta_client.types import CreateBlockParam
from sqlalchemy import Connection, text
from tests.support.tenants import Tenant

from remanence.core.naming import FIRST_WORDS, SECOND_WORDS
from remanence.kit import json

MODEL = "openai/gpt-4o-mini"
NOBODY = "11111111-1111-4111-8111-111111111111"


def refuse(tenant: Tenant, status: int, **given: Any) -> str:
    """The reason for which an agent is not made; nothing of it may stay behind."""
    response = tenant.http.post("/v1/agents/", json={"model": MODEL} | given)
    assert response.status_code == status, response.text[:500]
    assert tenant.http.get("/v1/agents/count").json() == 0
    assert tenant.http.get("/v1/blocks/").json() == []
    assert tenant.http.get("/v1/tags/").json() == []
    return response.json()["detail"]


@pytest.mark.promise("agents.create.minimal")
def test_a_model_is_all_that_an_agent_needs(tenant: Tenant) -> None:
    agent = tenant.sdk.agents.create(model=MODEL)
    assert agent.agent_type == "letta_v1_agent"
    assert agent.model == MODEL
    assert agent.embedding == "local/wordllama-256"
    assert agent.timezone == "UTC"
    assert agent.created_by_id == tenant.actor.user_id
    assert (agent.blocks, agent.tags, agent.sources, agent.secrets) == ([], [], [], [])
    assert (agent.message_buffer_autoclear, agent.hidden, agent.enable_sleeptime) == (False, None, None)
    assert len(agent.message_ids or []) == 1
    assert agent.system


@pytest.mark.promise("agents.create.default-name")
def test_an_agent_without_a_name_gets_two_friendly_words(tenant: Tenant) -> None:
    for name in (tenant.agent()["name"], tenant.agent(name=None)["name"]):
        assert any(
            name.startswith(first) and name.removeprefix(first) in SECOND_WORDS for first in FIRST_WORDS
        )


@pytest.mark.promise("agents.create.name")
def test_names_of_any_script_are_kept_and_need_not_be_unique(tenant: Tenant) -> None:
    for name in ("ada", "Ada Lovelace-2_b", "O'Hara", "小明", "Владимир", "अनिता", "ada"):
        assert tenant.sdk.agents.create(model=MODEL, name=name).name == name


@pytest.mark.promise("agents.create.name")
@pytest.mark.parametrize(
    "name", ["a/b?", "a\nb", "tab\there", "<b>", "a.b", "", "   ", "x" * 300, "a\u0000b"]
)
def test_a_name_that_files_or_addresses_could_not_carry_is_refused(tenant: Tenant, name: str) -> None:
    refuse(tenant, 422, name=name)
    with pytest.raises(UnprocessableEntityError):
        tenant.sdk.agents.create(model=MODEL, name=name)


@pytest.mark.promise("agents.create.blocks")
def test_memory_blocks_are_made_with_their_defaults_and_in_their_order(tenant: Tenant) -> None:
    blocks: list[CreateBlockParam] = [
        {"label": "human", "value": "Name: Ada"},
        {"label": "persona", "value": "I am terse.", "description": "mine"},
        {
            "label": "notes",
            "value": "",
            "limit": 4000,
            "read_only": True,
            "metadata": {"k": 1},
            "tags": ["t"],
        },
    ]
    agent = tenant.sdk.agents.create(model=MODEL, memory_blocks=blocks)
    human, persona, notes = agent.blocks
    assert [human.label, persona.label, notes.label] == ["human", "persona", "notes"]
    assert (human.value, human.limit, human.read_only, human.metadata) == ("Name: Ada", 100_000, False, {})
    assert human.description
    assert persona.description == "mine"
    assert (notes.value, notes.limit, notes.read_only, notes.metadata) == ("", 4000, True, {"k": 1})
    assert (notes.description, notes.tags) == (None, ["t"])
    assert agent.memory.blocks == agent.blocks
    compiled = tenant.system_text(agent.id)
    for part in ("Name: Ada", "I am terse.", "read_only=true", human.description, agent.id):
        assert part in compiled


@pytest.mark.promise("agents.create.block-ids")
def test_blocks_that_exist_are_shared_and_not_copied(tenant: Tenant) -> None:
    shared = tenant.block("project", "Garden")
    first = tenant.sdk.agents.create(model=MODEL, block_ids=[shared["id"]])
    second = tenant.sdk.agents.create(
        model=MODEL, block_ids=[shared["id"], shared["id"]], memory_blocks=[{"label": "human", "value": ""}]
    )
    assert [block.id for block in first.blocks] == [shared["id"]]
    assert {block.label for block in second.blocks} == {"human", "project"}
    assert shared["id"] in {block.id for block in second.blocks}
    assert tenant.http.get("/v1/blocks/count").json() == 2


@pytest.mark.promise("agents.create.blocks", "agents.create.atomic")
def test_blocks_that_cannot_be_are_refused_with_the_whole_agent(tenant: Tenant) -> None:
    fine = {"label": "fine", "value": ""}
    twice = [fine, {"label": "fine", "value": "other"}]
    refuse(tenant, 409, memory_blocks=twice, tags=["t"])
    refuse(tenant, 422, memory_blocks=[fine, {"label": "tiny", "value": "x" * 11, "limit": 10}])
    refuse(tenant, 422, memory_blocks=[fine, {"label": "", "value": ""}])
    refuse(tenant, 422, memory_blocks=[fine, {"value": "no label"}])
    refuse(tenant, 404, memory_blocks=[fine], block_ids=[f"block-{NOBODY}"])
    refuse(tenant, 422, memory_blocks=[fine], block_ids=["block-1"])


@pytest.mark.promise("agents.create.tags")
def test_tags_keep_their_order_and_are_told_once(tenant: Tenant) -> None:
    assert tenant.sdk.agents.create(model=MODEL, tags=["demo", "alpha", "demo"]).tags == ["demo", "alpha"]


@pytest.mark.promise("agents.create.tags")
@pytest.mark.parametrize("tag", ["", "x" * 256, "a\u0000b"])
def test_a_tag_that_no_index_can_hold_is_refused(tenant: Tenant, tag: str) -> None:
    refuse(tenant, 422, tags=["fine", tag])


@pytest.mark.promise("agents.create.hidden")
def test_agents_that_work_for_others_are_hidden(tenant: Tenant) -> None:
    assert tenant.sdk.agents.create(model=MODEL, tags=["role:subagent"]).hidden is True
    assert tenant.sdk.agents.create(model=MODEL, hidden=True).hidden is True
    assert tenant.sdk.agents.create(model=MODEL, hidden=False).hidden is False


@pytest.mark.promise("agents.create.secrets")
def test_secrets_come_back_in_clear_under_both_names(tenant: Tenant) -> None:
    agent = tenant.agent(secrets={"API_TOKEN": "s3cret", "OTHER": ""})
    assert [(each["key"], each["value"]) for each in agent["secrets"]] == [
        ("API_TOKEN", "s3cret"),
        ("OTHER", ""),
    ]
    assert agent["tool_exec_environment_variables"] == agent["secrets"]
    first = agent["secrets"][0]
    assert first["id"].startswith("agent-env-")
    assert (first["agent_id"], first["organization_id"]) == (agent["id"], tenant.actor.organization_id)
    older = tenant.agent(tool_exec_environment_variables={"OLD": "o", "BOTH": "old"}, secrets={"BOTH": "new"})
    assert {each["key"]: each["value"] for each in older["secrets"]} == {"OLD": "o", "BOTH": "new"}


@pytest.mark.promise("agents.create.secrets-at-rest")
def test_secrets_are_encrypted_at_rest_and_their_cipher_never_leaves(tenant: Tenant) -> None:
    agent = tenant.agent(secrets={"API_TOKEN": "s3cret-of-mine"})
    assert agent["secrets"][0]["value_enc"] is None

    def stored(connection: Connection) -> str:
        query = text("SELECT value_enc FROM agent_environment_variables WHERE agent_id = :id")
        return connection.execute(query, {"id": agent["id"]}).scalar_one()

    cipher = tenant.house.read(stored)
    assert "s3cret" not in cipher
    key = (tenant.house.folder / "secret.key").read_text()
    answers = [tenant.http.get(f"/v1/agents/{agent['id']}").text, tenant.http.get("/v1/agents/").text]
    assert all(cipher not in answer and key not in answer for answer in answers)


@pytest.mark.promise("agents.create.timezone")
def test_a_timezone_is_kept_and_told_to_the_model(tenant: Tenant) -> None:
    agent = tenant.sdk.agents.create(model=MODEL, timezone="Asia/Tokyo")
    assert agent.timezone == "Asia/Tokyo"
    assert "JST+0900" in tenant.system_text(agent.id)


@pytest.mark.promise("agents.create.timezone")
@pytest.mark.parametrize("timezone", ["Mars/Olympus", "../etc/passwd", "/etc/localtime", "\u0000"])
def test_a_place_without_a_timezone_is_refused(tenant: Tenant, timezone: str) -> None:
    refuse(tenant, 422, timezone=timezone)


@pytest.mark.promise("agents.create.texts")
def test_a_system_prompt_description_and_metadata_are_kept_as_given(tenant: Tenant) -> None:
    agent = tenant.sdk.agents.create(
        model=MODEL,
        system="Rules first.\n{CORE_MEMORY}\nThe end.",
        description="a helper",
        metadata={"k": {"deep": [1, 2.5, None, True]}, "ключ": "значение"},
        project_id="project-1",
        template_id="t",
        base_template_id="b",
        memory_blocks=[{"label": "human", "value": "Ada"}],
    )
    assert agent.system == "Rules first.\n{CORE_MEMORY}\nThe end."
    assert (agent.description, agent.metadata) == (
        "a helper",
        {"k": {"deep": [1, 2.5, None, True]}, "ключ": "значение"},
    )
    assert (agent.project_id, agent.template_id, agent.base_template_id) == ("project-1", "t", "b")
    compiled = tenant.system_text(agent.id)
    assert compiled.startswith("Rules first.\n<memory_blocks>")
    assert compiled.endswith("\nThe end.")


@pytest.mark.promise("agents.create.file-limits")
@pytest.mark.parametrize(
    ("window", "limits"),
    [(8000, (3, 5000)), (32_000, (5, 15_000)), (128_000, (10, 25_000)), (200_000, (10, 40_000))],
)
def test_open_files_are_bounded_by_the_size_of_the_window(
    tenant: Tenant, window: int, limits: tuple[int, int]
) -> None:
    agent = tenant.sdk.agents.create(model=MODEL, context_window_limit=window)
    assert (agent.max_files_open, agent.per_file_view_window_char_limit) == limits


@pytest.mark.promise("agents.create.file-limits")
def test_the_bounds_of_open_files_can_be_chosen_within_reason(tenant: Tenant) -> None:
    agent = tenant.sdk.agents.create(model=MODEL, max_files_open=7, per_file_view_window_char_limit=0)
    assert (agent.max_files_open, agent.per_file_view_window_char_limit) == (7, 0)
    tenant.sdk.agents.delete(agent.id)
    refuse(tenant, 422, max_files_open=1001)
    refuse(tenant, 422, per_file_view_window_char_limit=2**31)


SEQUENCE: list[dict[str, Any]] = [
    {"role": "user", "content": "Hello", "name": "Ada"},
    {"role": "assistant", "content": "Hi there."},
    {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
]


def shapes(tenant: Tenant, agent_id: str) -> list[tuple[str, Any]]:
    listed = tenant.http.get(f"/v1/agents/{agent_id}/messages").json()
    return [(each["message_type"], each.get("content") or each.get("reasoning")) for each in listed[1:]]


@pytest.mark.promise("agents.create.initial-messages")
def test_given_first_messages_replace_the_usual_ones(tenant: Tenant) -> None:
    agent = tenant.agent(initial_message_sequence=SEQUENCE)
    assert len(agent["message_ids"]) == 4
    user, assistant, alert = shapes(tenant, agent["id"])
    assert [user, assistant] == [("user_message", "Hello"), ("assistant_message", "Hi there.")]
    assert alert[0] == "system_message"
    assert json.decode(alert[1])["type"] == "system_alert"
    assert json.decode(alert[1])["message"] == "Be brief."
    heartbeat = tenant.agent(agent_type="memgpt_agent", initial_message_sequence=SEQUENCE)
    assert len(heartbeat["message_ids"]) == 5
    assert shapes(tenant, heartbeat["id"])[:2] == [user, assistant]
    assert len(tenant.agent(agent_type="memgpt_agent", initial_message_sequence=[])["message_ids"]) == 1


@pytest.mark.promise("agents.create.initial-messages")
def test_first_messages_of_the_user_are_packed_with_their_time(tenant: Tenant) -> None:
    agent = tenant.agent(initial_message_sequence=SEQUENCE[:1], timezone="Asia/Tokyo")

    def stored(connection: Connection) -> Any:
        query = text("SELECT content FROM messages WHERE id = :id")
        return connection.execute(query, {"id": agent["message_ids"][1]}).scalar_one()

    content = tenant.house.read(stored)
    parts = json.decode(content) if isinstance(content, str) else content
    packed = json.decode(parts[0]["text"])
    assert packed.pop("time").endswith("JST+0900")
    assert packed == {"type": "user_message", "message": "Hello", "name": "Ada"}


@pytest.mark.promise("agents.create.initial-messages", "agents.create.atomic")
def test_first_messages_that_nobody_could_say_are_refused(tenant: Tenant) -> None:
    refuse(tenant, 422, initial_message_sequence=[{"role": "tool", "content": "x"}])
    refuse(tenant, 422, initial_message_sequence=[{"role": "user"}])


@pytest.mark.promise("agents.create.atomic")
def test_a_refused_agent_leaves_neither_blocks_nor_tags_behind(tenant: Tenant) -> None:
    full: dict[str, Any] = {
        "memory_blocks": [{"label": "human", "value": "x"}],
        "tags": ["t"],
        "secrets": {"K": "v"},
        "initial_message_sequence": SEQUENCE,
    }
    assert "no_such_tool" in refuse(tenant, 400, tools=["no_such_tool"], **full)
    refuse(tenant, 400, tool_ids=[f"tool-{NOBODY}"], **full)
    refuse(tenant, 404, folder_ids=[f"source-{NOBODY}"], **full)
    refuse(tenant, 404, identity_ids=[f"identity-{NOBODY}"], **full)
    refuse(tenant, 404, model="openai/no-such-model", **full)
    refuse(tenant, 400, embedding="openai/no-such-model", **full)

    def leftovers(connection: Connection) -> int:
        query = text("SELECT count(*) FROM messages WHERE organization_id = :id")
        return connection.execute(query, {"id": tenant.actor.organization_id}).scalar_one()

    assert tenant.house.read(leftovers) == 0


@pytest.mark.promise("agents.create.errors")
def test_the_sdk_raises_its_own_errors_for_each_refusal(tenant: Tenant) -> None:
    with pytest.raises(BadRequestError) as caught:
        tenant.sdk.agents.create(model=MODEL, tools=["no_such_tool"])
    assert "no_such_tool" in caught.value.response.json()["detail"]
    with pytest.raises(UnprocessableEntityError):
        tenant.sdk.agents.create(model=MODEL, agent_type="nope")  # pyright: ignore[reportArgumentType] - the point of it

"""Changing agents: each field, whole lists, their memory's compiled form, and their end."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from letta_client import NotFoundError
from tests.support.tenants import Tenant

from remanence.kit import json
from remanence.messages.repository import set_text

MODEL = "openai/gpt-4o-mini"
NOBODY = "11111111-1111-4111-8111-111111111111"


def patch(tenant: Tenant, agent_id: str, **given: Any) -> dict[str, Any]:
    response = tenant.http.patch(f"/v1/agents/{agent_id}", json=given)
    assert response.status_code == 200, response.text[:500]
    assert tenant.state(agent_id) == response.json()
    return response.json()


def refuse(tenant: Tenant, agent_id: str, status: int, **given: Any) -> None:
    """A change that must fail, and then nothing may have changed."""
    before = tenant.state(agent_id)
    response = tenant.http.patch(f"/v1/agents/{agent_id}", json={"description": "lost"} | given)
    assert response.status_code == status, response.text[:500]
    assert tenant.state(agent_id) == before


@pytest.mark.promise("agents.update.scalars")
@pytest.mark.parametrize(
    "change",
    [
        {"name": "ada-2"},
        {"description": "changed"},
        {"metadata": {"k2": 2}},
        {"timezone": "Europe/Berlin"},
        {"message_buffer_autoclear": True},
        {"max_files_open": 4, "per_file_view_window_char_limit": 99},
        {"project_id": "p", "template_id": "t", "base_template_id": "b"},
        {"response_format": {"type": "json_object"}},
        {"last_stop_reason": "end_turn", "last_run_duration_ms": 12},
        {"last_run_completion": "2026-01-02T03:04:05.000006Z"},
        {"enable_sleeptime": True},
    ],
)
def test_a_field_changes_and_the_others_stay(tenant: Tenant, change: dict[str, Any]) -> None:
    before = tenant.agent(name="ada", tags=["t"])
    after = patch(tenant, before["id"], **change)
    assert after["updated_at"] > before["updated_at"]
    group = {
        key: after[key] for key in ("managed_group", "multi_agent_group") if change.get("enable_sleeptime")
    }
    assert after == before | change | group | {"updated_at": after["updated_at"]}


@pytest.mark.promise("agents.update.sdk")
def test_the_sdk_changes_an_agent_and_gets_all_of_it_back(tenant: Tenant) -> None:
    agent = tenant.agent(tags=["demo"], memory_blocks=[{"label": "human", "value": "Ada"}])
    changed = tenant.sdk.agents.update(
        agent["id"], name="ada-2", metadata={"k": 1}, context_window_limit=32_000
    )
    assert (changed.name, changed.metadata, changed.llm_config.context_window) == ("ada-2", {"k": 1}, 32_000)
    assert (changed.tags, [block.label for block in changed.blocks]) == (["demo"], ["human"])
    assert len(changed.tools) == 3


@pytest.mark.promise("agents.update.nulls")
def test_null_leaves_a_field_untouched(tenant: Tenant) -> None:
    before = tenant.agent(
        name="ada",
        description="d",
        metadata={"k": 1},
        tags=["t"],
        memory_blocks=[{"label": "human", "value": "Ada"}],
        secrets={"K": "v"},
        hidden=False,
    )
    after = patch(
        tenant, before["id"], **dict.fromkeys(("name", "description", "metadata", "system", "model"))
    )
    nulls = ("tags", "block_ids", "tool_ids", "secrets", "tool_rules", "message_ids", "timezone", "hidden")
    after = patch(tenant, before["id"], **dict.fromkeys(nulls))
    assert after == before | {"updated_at": after["updated_at"]}
    assert patch(tenant, before["id"]) == before | {"updated_at": tenant.state(before["id"])["updated_at"]}


@pytest.mark.promise("agents.update.hidden")
def test_an_agent_can_be_hidden_and_shown_again(tenant: Tenant) -> None:
    agent = tenant.agent()
    assert patch(tenant, agent["id"], hidden=True)["hidden"] is True
    assert list(tenant.sdk.agents.list()) == []
    assert patch(tenant, agent["id"], hidden=False)["hidden"] is False
    assert len(list(tenant.sdk.agents.list())) == 1


@pytest.mark.promise("agents.update.lists")
def test_lists_and_maps_replace_the_whole_set(tenant: Tenant) -> None:
    agent = tenant.agent(
        tags=["a", "b"], secrets={"A": "1", "B": "2"}, memory_blocks=[{"label": "human", "value": "x"}]
    )
    other = tenant.block("project", "Garden")
    after = patch(
        tenant,
        agent["id"],
        tags=["b", "c"],
        secrets={"B": "3", "C": "4"},
        block_ids=[other["id"]],
        tool_ids=[tenant.tool_id("memory"), tenant.tool_id("send_message")],
        tool_rules=[{"type": "exit_loop", "tool_name": "send_message"}],
    )
    assert after["tags"] == ["b", "c"]
    assert {each["key"]: each["value"] for each in after["secrets"]} == {"B": "3", "C": "4"}
    assert [block["id"] for block in after["blocks"]] == [other["id"]]
    assert [tool["name"] for tool in after["tools"]] == ["memory", "send_message"]
    assert [rule["type"] for rule in after["tool_rules"]] == ["exit_loop"]
    kept = {each["key"]: each["id"] for each in agent["secrets"]}["B"]
    assert {each["key"]: each["id"] for each in after["secrets"]}["B"] == kept
    assert tenant.http.get(f"/v1/blocks/{agent['blocks'][0]['id']}").status_code == 200
    empty = patch(tenant, agent["id"], tags=[], secrets={}, block_ids=[], tool_ids=[], tool_rules=[])
    assert [empty[key] for key in ("tags", "secrets", "blocks", "tools", "tool_rules")] == [[]] * 5


@pytest.mark.promise("agents.update.errors")
def test_a_change_that_is_refused_changes_nothing(tenant: Tenant) -> None:
    agent = tenant.agent(memory_blocks=[{"label": "human", "value": "x"}], tags=["t"])
    twin = tenant.block("human", "other")
    mine = agent["blocks"][0]["id"]
    other = tenant.agent()
    refuse(tenant, agent["id"], 422, name="a/b?")
    refuse(tenant, agent["id"], 422, timezone="Mars/Olympus")
    refuse(tenant, agent["id"], 400, model="gpt-4o")
    refuse(tenant, agent["id"], 404, model="openai/no-such-model")
    refuse(tenant, agent["id"], 400, embedding="openai/no-such-model")
    refuse(tenant, agent["id"], 400, tool_ids=[f"tool-{NOBODY}"])
    refuse(tenant, agent["id"], 404, block_ids=[f"block-{NOBODY}"])
    refuse(tenant, agent["id"], 409, block_ids=[mine, twin["id"]])
    refuse(tenant, agent["id"], 404, folder_ids=[f"source-{NOBODY}"])
    refuse(tenant, agent["id"], 404, identity_ids=[f"identity-{NOBODY}"])
    refuse(tenant, agent["id"], 400, message_ids=[f"message-{NOBODY}"])
    refuse(tenant, agent["id"], 400, message_ids=other["message_ids"])
    refuse(tenant, agent["id"], 422, model_settings={"temperature": "hot"})
    refuse(tenant, agent["id"], 422, tags=["x" * 256])
    rule = {"type": "run_first", "tool_name": "conversation_search", "args": {"limit": "many"}}
    refuse(tenant, agent["id"], 400, tool_rules=[rule], tags=["lost"])
    with pytest.raises(NotFoundError):
        tenant.sdk.agents.update(f"agent-{NOBODY}", name="nobody")


@pytest.mark.promise("agents.update.model")
def test_another_model_is_resolved_anew(tenant: Tenant) -> None:
    agent = tenant.agent(
        model_settings={"temperature": 0.3, "max_output_tokens": 100}, context_window_limit=9000
    )
    after = patch(tenant, agent["id"], model="openai/gpt-4o")
    config = after["llm_config"]
    assert (after["model"], config["model"], config["handle"]) == ("openai/gpt-4o", "gpt-4o", "openai/gpt-4o")
    assert (config["temperature"], config["max_tokens"], config["context_window"]) == (1.0, 16_384, 128_000)
    small = patch(tenant, agent["id"], model=MODEL, context_window_limit=32_000)
    assert (small["model"], small["llm_config"]["context_window"]) == (MODEL, 32_000)


@pytest.mark.promise("agents.update.model")
def test_settings_change_what_they_mention(tenant: Tenant) -> None:
    agent = tenant.agent(model_settings={"temperature": 0.3, "max_output_tokens": 100})
    after = patch(
        tenant, agent["id"], model_settings={"provider_type": "openai", "parallel_tool_calls": True}
    )
    assert after["llm_config"] == agent["llm_config"] | {"parallel_tool_calls": True}
    assert after["model_settings"] == agent["model_settings"] | {"parallel_tool_calls": True}
    config = agent["llm_config"] | {"temperature": 0.9, "model": "gpt-4o"}
    assert patch(tenant, agent["id"], llm_config=config)["llm_config"] == config
    embedding = patch(tenant, agent["id"], embedding="openai/text-embedding-3-small")
    assert embedding["embedding_config"]["embedding_dim"] == 1536


@pytest.mark.promise("agents.update.compaction")
def test_compaction_merges_what_is_given_and_another_mode_brings_its_prompt(tenant: Tenant) -> None:
    agent = tenant.agent(compaction_settings={"prompt": "Mine.", "clip_chars": 10})
    given = agent["compaction_settings"]
    after = patch(tenant, agent["id"], compaction_settings={"sliding_window_percentage": 0.5, "prompt": None})
    assert after["compaction_settings"] == given | {"sliding_window_percentage": 0.5}
    after = patch(tenant, agent["id"], compaction_settings={"mode": "all", "clip_chars": None})
    assert after["compaction_settings"]["mode"] == "all"
    assert after["compaction_settings"]["clip_chars"] is None
    assert after["compaction_settings"]["prompt"] not in ("Mine.", None, "")
    assert after["compaction_settings"]["sliding_window_percentage"] == 0.5


@pytest.mark.promise("agents.update.recompiles")
def test_another_system_prompt_is_compiled_into_the_same_message(tenant: Tenant) -> None:
    agent = tenant.agent(memory_blocks=[{"label": "human", "value": "Ada"}])
    after = patch(tenant, agent["id"], system="You are Ada's helper.")
    assert after["system"] == "You are Ada's helper."
    assert after["message_ids"] == agent["message_ids"]
    compiled = tenant.system_text(agent["id"])
    assert compiled.startswith("You are Ada's helper.\n\n<memory_blocks>")
    assert "Ada</value>" in compiled.replace("\n", "")


@pytest.mark.promise("agents.update.recompiles")
def test_other_blocks_rules_and_timezones_show_in_the_system_message(tenant: Tenant) -> None:
    agent = tenant.agent()
    block = tenant.block("project", "Garden plan")
    rule = {"type": "max_count_per_step", "tool_name": "memory_insert", "max_count_limit": 2}
    patch(tenant, agent["id"], block_ids=[block["id"]], timezone="Asia/Tokyo", tool_rules=[rule])
    compiled = tenant.system_text(agent["id"])
    assert "Garden plan" in compiled
    assert "JST+0900" in compiled
    assert "<tool_usage_rules>" in compiled
    assert "memory_insert" in compiled.partition("<tool_usage_rules>")[2]


@pytest.mark.promise("agents.update.message-ids")
def test_the_messages_in_context_can_be_chosen_and_the_system_message_stays_first(tenant: Tenant) -> None:
    agent = tenant.agent(agent_type="memgpt_agent")
    system, greeting, returned, login = agent["message_ids"]
    after = patch(tenant, agent["id"], message_ids=[system, login, login])
    assert after["message_ids"] == [system, login]
    headless = patch(tenant, agent["id"], message_ids=[greeting, returned])
    assert headless["message_ids"][1:] == [greeting, returned]
    assert headless["message_ids"][0] not in (greeting, returned)
    assert len(patch(tenant, agent["id"], message_ids=[])["message_ids"]) == 1


@pytest.mark.promise("agents.delete")
def test_a_deleted_agent_is_gone_for_every_request(tenant: Tenant) -> None:
    agent = tenant.agent(tags=["only-here"], memory_blocks=[{"label": "human", "value": "x"}])
    block, tool = agent["blocks"][0]["id"], agent["tools"][0]["id"]
    answer = tenant.http.delete(f"/v1/agents/{agent['id']}")
    assert answer.status_code == 200
    assert list(answer.json()) == ["message"]
    root = f"/v1/agents/{agent['id']}"
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"name": "ghost"}),
        ("DELETE", "", None),
        ("GET", "/messages", None),
        ("POST", "/messages", {"input": "Hello?"}),
        ("POST", "/messages/stream", {"input": "Hello?"}),
        ("POST", "/messages/async", {"input": "Hello?"}),
        ("PATCH", "/reset-messages", {}),
        ("POST", "/recompile", None),
        ("POST", "/recompile?dry_run=true", None),
        ("GET", "/context", None),
        ("GET", "/core-memory", None),
        ("GET", "/core-memory/blocks", None),
        ("GET", "/core-memory/blocks/human", None),
        ("PATCH", "/core-memory/blocks/human", {"value": "y"}),
        ("PATCH", f"/core-memory/blocks/attach/{block}", None),
        ("PATCH", f"/core-memory/blocks/detach/{block}", None),
        ("GET", "/tools", None),
        ("PATCH", f"/tools/attach/{tool}", None),
        ("PATCH", f"/tools/detach/{tool}", None),
    ):
        answer = tenant.http.request(method, root + path, json=body)
        assert answer.status_code == 404, f"{method} {path}: {answer.status_code} {answer.text[:200]}"
    assert tenant.http.get("/v1/agents/").json() == []
    assert tenant.http.get("/v1/agents/count").json() == 0
    assert tenant.http.get("/v1/tags/").json() == []
    assert tenant.http.get(f"/v1/blocks/{block}/agents").json() == []
    assert tenant.sdk.blocks.retrieve(block).value == "x"


@pytest.mark.promise("agents.delete")
def test_the_sdk_deletes_an_agent_once(tenant: Tenant) -> None:
    agent = tenant.sdk.agents.create(model=MODEL)
    tenant.sdk.agents.delete(agent.id)
    with pytest.raises(NotFoundError):
        tenant.sdk.agents.delete(agent.id)


def recompile(tenant: Tenant, agent_id: str, *, dry_run: bool = False, update_timestamp: bool = False) -> str:
    """The SDK hands the JSON on as it is."""
    return json.decode(
        tenant.sdk.agents.recompile(agent_id, dry_run=dry_run, update_timestamp=update_timestamp)
    )


_COMPILED_AT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [AP]M UTC\+0000")


@pytest.mark.promise("agents.recompile")
def test_recompiling_shows_blocks_that_changed_behind_the_agents_back(tenant: Tenant) -> None:
    agent = tenant.agent(memory_blocks=[{"label": "human", "value": "Ada"}])
    before = tenant.system_text(agent["id"])
    tenant.sdk.blocks.update(agent["blocks"][0]["id"], value="Grace")
    preview = recompile(tenant, agent["id"], dry_run=True)
    assert "Grace" in preview
    assert tenant.system_text(agent["id"]) == before
    compiled = recompile(tenant, agent["id"])
    assert compiled == tenant.system_text(agent["id"])
    assert "Grace" in compiled
    assert tenant.state(agent["id"])["message_ids"] == agent["message_ids"]
    alias = tenant.http.post(f"/v1/agents/{agent['id']}/system-prompt/recompile").json()
    assert alias == compiled


@pytest.mark.promise("agents.recompile")
def test_recompiling_keeps_the_time_unless_asked_to_renew_it(tenant: Tenant) -> None:
    agent = tenant.agent()
    long_ago = _COMPILED_AT.sub("2020-01-01 01:00:00 AM UTC+0000", tenant.system_text(agent["id"]))
    tenant.house.write(set_text, agent["message_ids"][0], long_ago)
    assert recompile(tenant, agent["id"]) == long_ago
    renewed = recompile(tenant, agent["id"], update_timestamp=True)
    found = _COMPILED_AT.search(renewed)
    assert found
    moment = datetime.strptime(found[0], "%Y-%m-%d %I:%M:%S %p UTC%z")
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60


@pytest.mark.promise("agents.reset")
@pytest.mark.parametrize(("adds", "count"), [(False, 1), (True, 4)])
def test_resetting_clears_the_context_and_keeps_the_history(tenant: Tenant, adds: bool, count: int) -> None:
    first = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
    agent = tenant.agent(agent_type="memgpt_agent", initial_message_sequence=first)
    assert len(agent["message_ids"]) == 3
    state = tenant.sdk.agents.messages.reset(agent["id"], add_default_initial_messages=adds)
    assert state is not None
    ids = state.message_ids or []
    assert len(ids) == count
    assert ids[0] == agent["message_ids"][0]
    assert set(agent["message_ids"][1:]).isdisjoint(ids)
    listed = tenant.http.get(f"/v1/agents/{agent['id']}/messages").json()
    assert set(agent["message_ids"]) <= {each["id"] for each in listed}
    assert tenant.http.patch(f"/v1/agents/{agent['id']}/reset-messages").status_code == 200


@pytest.mark.promise("agents.context")
def test_the_overview_of_the_context_adds_up(tenant: Tenant) -> None:
    agent = tenant.agent(
        agent_type="memgpt_agent",
        system="Be kind.",
        memory_blocks=[{"label": "human", "value": "Ada"}],
        tool_rules=[{"type": "max_count_per_step", "tool_name": "memory", "max_count_limit": 1}],
    )
    overview = tenant.http.get(f"/v1/agents/{agent['id']}/context").json()
    parts = [value for key, value in overview.items() if key.startswith("num_tokens_")]
    assert overview["context_window_size_current"] == sum(parts)
    assert overview["context_window_size_max"] == 128_000
    assert overview["system_prompt"] == "Be kind."
    assert "Ada" in overview["core_memory"]
    assert agent["id"] in overview["external_memory_summary"]
    assert "memory" in overview["tool_usage_rules"]
    assert overview["num_messages"] == len(overview["messages"]) == 4
    assert (overview["num_recall_memory"], overview["num_archival_memory"]) == (4, 0)
    names = [each["function"]["name"] for each in overview["functions_definitions"]]
    assert names == [tool["name"] for tool in agent["tools"]]
    for part in ("system", "core_memory", "functions_definitions", "messages", "tool_usage_rules"):
        assert overview[f"num_tokens_{part}"] > 0


@pytest.mark.promise("agents.core-memory")
def test_the_memory_of_an_agent_can_be_read_alone(tenant: Tenant) -> None:
    agent = tenant.agent(memory_blocks=[{"label": "human", "value": "Ada"}])
    memory = tenant.http.get(f"/v1/agents/{agent['id']}/core-memory").json()
    assert memory == agent["memory"]
    assert memory["blocks"][0]["value"] == "Ada"


@pytest.mark.promise("agents.update.at-once")
def test_changes_that_come_at_once_are_all_kept(tenant: Tenant) -> None:
    agent = tenant.agent()
    path = f"/v1/agents/{agent['id']}"
    changes: list[dict[str, Any]] = [
        {"context_window_limit": 9000},
        {"max_tokens": 77},
        {"parallel_tool_calls": True},
        {"compaction_settings": {"clip_chars": 111}},
        {"compaction_settings": {"sliding_window_percentage": 0.4}},
    ]

    def send(change: dict[str, Any]) -> int:
        return tenant.http.patch(path, json=change).status_code

    with ThreadPoolExecutor(len(changes)) as pool:
        answers = list(pool.map(send, changes))
    assert answers == [200] * len(changes)
    state = tenant.state(agent["id"])
    config, compaction = state["llm_config"], state["compaction_settings"]
    assert (config["context_window"], config["max_tokens"], config["parallel_tool_calls"]) == (9000, 77, True)
    assert (compaction["clip_chars"], compaction["sliding_window_percentage"]) == (111, 0.4)

"""Agents as files: out of one server and into another, with all that is theirs."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from letta_client import BadRequestError
from tests.support.agent_files import (
    LLM,
    SOURCE,
    agent_files,
    await_files,
    bring,
    brought,
    changed,
    comparable,
    on_shelves,
    simple_file,
    taken,
)
from tests.support.chats import Chat
from tests.support.script import calls, says
from tests.support.talks import Talk
from tests.support.tenants import Tenant

from remanence.kit import json
from remanence.kit.json import JsonObject

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the SDK's older arguments


@pytest.fixture
def lee(talk: Talk) -> JsonObject:
    """An agent with something of everything."""
    tool = talk.ask("POST", "/v1/tools/", json={"source_code": SOURCE.format(name="roll_dice")})
    agent = talk.agent(
        name="lee",
        tags=["af", "b"],
        tool_ids=[tool["id"]],
        secrets={"TOKEN": "hush"},
        description="Rolls dice.",
        timezone="Asia/Tokyo",
        compaction_settings={"mode": "all", "clip_chars": 1234},
        tool_rules=[{"type": "max_count_per_step", "tool_name": "roll_dice", "max_count_limit": 3}],
    )
    talk.say(
        agent, "Note figs.", calls("memory_insert", label="human", new_string="Likes figs."), says("Done.")
    )
    talk.ask(
        "POST",
        f"/v1/agents/{agent['id']}/archival-memory",
        json={"text": "Figs are sweet.", "tags": ["fruit"]},
    )
    return agent


@pytest.mark.promise("agents.files.export")
def test_an_exported_agent_has_local_ids_and_no_secret_values(talk: Talk, lee: JsonObject) -> None:
    text = talk.sdk.agents.export_file(lee["id"])
    assert text.startswith('{\n  "agents": [\n')
    assert "hush" not in text
    assert text.count(lee["id"]) == 1  # in the prompt
    file = json.decode(text)
    assert [*file] == [
        *("agents", "groups", "blocks", "files", "sources", "tools", "mcp_servers", "skills", "metadata"),
        *("created_at", "remanence"),
    ]
    (agent,) = file["agents"]
    assert agent["id"] == "agent-0"
    assert agent["secrets"] == agent["tool_exec_environment_variables"] == {"TOKEN": ""}
    assert agent["block_ids"] == [block["id"] for block in file["blocks"]] == ["block-0", "block-1"]
    assert {tool["id"] for tool in file["tools"]} == set(agent["tool_ids"])
    assert [message["role"] for message in agent["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert agent["in_context_message_ids"] == [f"message-{place}" for place in range(5)]
    assert agent["llm_config"]["handle"] == "openai/gpt-4o-mini"
    assert (agent["include_base_tools"], agent["include_base_tool_rules"], agent["model"]) == (
        False,
        False,
        None,
    )
    (call,) = agent["messages"][2]["tool_calls"]
    assert (call["type"], call["function"]["name"]) == ("function", "memory_insert")
    assert agent["messages"][3]["tool_returns"][0]["tool_call_id"] == call["id"]


@pytest.mark.promise("agents.files.import")
def test_an_agent_that_comes_back_goes_on_where_it_was(talk: Talk, lee: JsonObject) -> None:
    text = talk.sdk.agents.export_file(lee["id"])
    answer = talk.sdk.agents.import_file(
        file=("lee.af", text.encode()), name="lee_2", secrets='{"TOKEN": "again"}'
    )
    (agent_id,) = answer.agent_ids
    copy, old = talk.tenant.state(agent_id), talk.tenant.state(lee["id"])
    assert copy["name"] == "lee_2"
    own = {"id", "name", "created_at", "updated_at", "message_ids", "blocks", "memory", "secrets"}
    own |= {
        "enable_sleeptime",
        "tool_exec_environment_variables",
        "last_run_completion",
        "last_run_duration_ms",
        "last_stop_reason",
    }
    assert {k: v for k, v in copy.items() if k not in own} == {k: v for k, v in old.items() if k not in own}
    assert [secret["value"] for secret in copy["secrets"]] == ["again"]
    assert [block["value"] for block in copy["blocks"]] == [block["value"] for block in old["blocks"]]
    assert {block["id"] for block in copy["blocks"]}.isdisjoint(block["id"] for block in old["blocks"])
    assert agent_id in talk.tenant.system_text(agent_id)
    talk.say(copy, "And?", says("Figs."))
    roles = [message["role"] for message in talk.model.journal[-1].body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    (passage,) = talk.get(f"/v1/agents/{agent_id}/archival-memory")
    assert (passage["text"], passage["tags"]) == ("Figs are sweet.", ["fruit"])
    found = talk.get(f"/v1/agents/{agent_id}/archival-memory/search", query="figs")
    assert found["count"] == 1


@pytest.mark.promise("agents.files.same")
@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(file=agent_files())
def test_an_agent_exported_and_imported_again_is_the_same(tenant: Tenant, file: JsonObject) -> None:
    (first,) = brought(tenant.http, file)
    await_files(tenant.sdk, first)
    written = taken(tenant.http, first)
    (second,) = brought(tenant.http, written, append_copy_suffix=False)
    await_files(tenant.sdk, second)
    assert comparable(taken(tenant.http, second)) == comparable(written)
    (agent,) = written["agents"]
    assert agent["name"] == "lee_copy"
    assert len(agent["messages"]) >= len(file["agents"][0]["messages"])
    assert [block["value"] for block in written["blocks"]] == [block["value"] for block in file["blocks"]]
    assert on_shelves(written) == on_shelves(file)
    passages = [each["text"] for archive in written["remanence"]["archives"] for each in archive["passages"]]
    assert sorted(passages) == sorted(
        each["text"] for archive in file["remanence"]["archives"] for each in archive["passages"]
    )


@pytest.mark.promise("agents.files.conversations")
def test_conversations_come_along_or_are_taken_alone(talk: Talk, lee: JsonObject) -> None:
    aside = Chat.begin(talk, lee, summary="aside", isolated_block_labels=["human"])
    aside.say("Psst.", says("Yes?"))
    whole = taken(talk.http, lee["id"])
    (found,) = whole["remanence"]["conversations"]
    assert [each["role"] for each in found["messages"]] == ["system", "user", "assistant"]
    (copy,) = brought(talk.http, whole)
    (talked,) = talk.get("/v1/conversations/", agent_id=copy)
    assert talked["summary"] == "aside"
    assert len(talked["isolated_block_ids"]) == 1
    Chat(talk, talked["id"]).say("Again.", says("Still here."))
    assert [each["role"] for each in talk.model.journal[-1].body["messages"]][-3:] == [
        "user",
        "assistant",
        "user",
    ]
    alone = talk.sdk.agents.export_file(lee["id"], conversation_id=aside.id)
    (agent,) = json.decode(alone)["agents"]
    assert [each["role"] for each in agent["messages"]] == ["system", "user", "assistant"]
    assert talk.http.get(f"/v1/agents/{copy}/export", params={"conversation_id": aside.id}).status_code == 400


@pytest.mark.promise("agents.files.scrub")
def test_a_scrubbed_file_has_nothing_that_was_said(talk: Talk, lee: JsonObject) -> None:
    Chat.begin(talk, lee).say("Secret.", says("Kept."))
    file = json.decode(talk.sdk.agents.export_file(lee["id"], scrub_messages=True))
    (agent,) = file["agents"]
    assert (agent["messages"], agent["in_context_message_ids"]) == ([], [])
    assert (file["remanence"]["archives"], file["remanence"]["conversations"]) == ([], [])
    whole = taken(talk.http, lee["id"])
    for each, form in ((file, {}), (whole, {"strip_messages": True})):
        (agent_id,) = brought(talk.http, each, **form)
        assert [said["message_type"] for said in talk.get(f"/v1/agents/{agent_id}/messages")] == [
            "system_message"
        ]


@pytest.mark.promise("agents.files.skills")
def test_skills_that_are_given_stand_in_the_file(talk: Talk, lee: JsonObject) -> None:
    skill = {"name": "cook", "files": {"SKILL.md": "Boil."}, "source_url": None}
    path = f"/v1/agents/{lee['id']}/export"
    file = talk.ask("POST", path, json={"skills": [skill], "scrub_messages": True})
    assert (file["skills"], file["agents"][0]["messages"]) == ([skill], [])
    assert talk.http.get(path, params={"use_legacy_format": True}).status_code == 400


@pytest.mark.promise("agents.files.options")
def test_names_models_projects_and_secrets_are_chosen_when_importing(talk: Talk) -> None:
    file: JsonObject = simple_file(secrets={"A": "", "B": ""})
    file["agents"].append(file["agents"][0] | {"id": "agent-1", "name": "kim"})
    names = [talk.tenant.state(each)["name"] for each in brought(talk.http, file)]
    assert names == ["lee_copy", "kim_copy"]
    names = [talk.tenant.state(each)["name"] for each in brought(talk.http, file, append_copy_suffix=False)]
    assert names == ["lee", "kim"]
    form = {
        "override_name": "max",
        "override_model_handle": "openai/gpt-4.1",
        "override_embedding_handle": "openai/text-embedding-3-small",
        "env_vars_json": '{"A": "1", "C": "2"}',
        "project_id": "project-7",
    }
    for agent_id in brought(talk.http, file, **form):
        state = talk.tenant.state(agent_id)
        assert (state["name"], state["model"], state["project_id"]) == ("max", "openai/gpt-4.1", "project-7")
        assert state["embedding"] == "openai/text-embedding-3-small"
        assert state["llm_config"]["context_window"] == LLM["context_window"]
        assert state["llm_config"]["temperature"] == 0.4
        assert {each["key"]: each["value"] for each in state["secrets"]} == {"A": "1", "B": "", "C": "2"}
    assert bring(talk.http, file, model="openai/none-such").status_code == 404
    assert bring(talk.http, file, secrets="[1]").status_code == 400


@pytest.mark.promise("agents.files.addresses")
def test_no_address_is_taken_from_a_file(talk: Talk) -> None:
    (known,) = brought(talk.http, simple_file())
    ours = talk.agent()["llm_config"]["model_endpoint"]
    assert talk.tenant.state(known)["llm_config"]["model_endpoint"] == ours
    odd = LLM | {"handle": "hooli/pied-piper", "model": "pied-piper", "model_endpoint_type": "hooli"}
    (unknown,) = brought(talk.http, simple_file(llm_config=odd))
    state = talk.tenant.state(unknown)
    assert (state["model"], state["llm_config"]["model_endpoint"]) == ("hooli/pied-piper", None)


@pytest.mark.promise("agents.files.tools")
def test_tools_of_a_file_replace_those_of_the_same_name_or_leave_them(talk: Talk, lee: JsonObject) -> None:
    file = taken(talk.http, lee["id"], scrub_messages=True)
    mine = next(tool for tool in file["tools"] if tool["name"] == "roll_dice")
    mine["source_code"] = mine["source_code"].replace("return place", "return place * 2")
    tool_id = talk.tenant.tool_id("roll_dice")
    brought(talk.http, file, override_existing_tools=False)
    assert "* 2" not in talk.get(f"/v1/tools/{tool_id}")["source_code"]
    (agent_id,) = brought(talk.http, file)
    assert "* 2" in talk.get(f"/v1/tools/{tool_id}")["source_code"]
    assert tool_id in [tool["id"] for tool in talk.tenant.state(agent_id)["tools"]]
    # What is built in is never replaced, and what is built into other servers is left out.
    built_in = {"id": "tool-1", "name": "memory_insert", "source_code": SOURCE.format(name="memory_insert")}
    strange = {
        "id": "tool-2",
        "name": "levitate",
        "tool_type": "letta_core",
        "json_schema": {"name": "levitate"},
    }
    answer = bring(
        talk.http, simple_file(tool_ids=["tool-1", "tool-2"]) | {"tools": [built_in, strange]}
    ).json()
    assert len(answer["warnings"]) == 2
    (held,) = talk.tenant.state(answer["agent_ids"][0])["tools"]
    assert (held["name"], held["tool_type"], held["source_code"]) == (
        "memory_insert",
        "letta_sleeptime_core",
        None,
    )


@pytest.mark.promise("agents.files.mcp")
def test_servers_of_tools_come_along_but_programs_do_not(talk: Talk) -> None:
    def tool(place: int, name: str) -> JsonObject:
        mcp = {"server_id": f"mcp_server-{place}", "server_name": name}
        return {"id": f"tool-{place}", "name": f"{name}_look", "tool_type": "external_mcp",
                "json_schema": {"name": f"{name}_look", "parameters": {}}, "metadata_": {"mcp": mcp}}  # fmt: skip

    remote = {"id": "mcp_server-0", "server_type": "streamable_http", "server_name": "far",
              "server_url": "http://127.0.0.1:9/mcp"}  # fmt: skip
    program = {"id": "mcp_server-1", "server_type": "stdio", "server_name": "near",
               "stdio_config": {"command": "rm", "args": ["-rf", "/"]}}  # fmt: skip
    file = simple_file(tool_ids=["tool-0", "tool-1"])
    file |= {"tools": [tool(0, "far"), tool(1, "near")], "mcp_servers": [remote, program]}
    answer = bring(talk.http, file).json()
    (warning,) = answer["warnings"]
    assert "near" in warning
    (server,) = talk.get("/v1/mcp-servers/")
    assert (server["server_name"], server["server_url"]) == ("far", remote["server_url"])
    again = taken(talk.http, answer["agent_ids"][0])
    assert [each["server_name"] for each in again["mcp_servers"]] == ["far"]
    brought(talk.http, again)
    assert len(talk.get("/v1/mcp-servers/")) == 1


@pytest.mark.promise("agents.files.groups")
def test_a_helper_comes_along_with_the_agent_it_helps(talk: Talk) -> None:
    agent = talk.agent(enable_sleeptime=True, name="ann")
    file = taken(talk.http, agent["id"])
    assert [each["name"] for each in file["agents"]] == ["ann", "ann-sleeptime"]
    assert [each["enable_sleeptime"] for each in file["agents"]] == [False, False]
    (group,) = file["groups"]
    assert group["manager_config"] == {
        "manager_type": "sleeptime",
        "manager_agent_id": "agent-0",
        "sleeptime_agent_frequency": 5,
    }
    main, helper = brought(talk.http, file)
    state = talk.tenant.state(main)
    assert state["enable_sleeptime"] is True
    assert state["managed_group"]["agent_ids"] == [helper]
    shared = {block["id"] for block in state["blocks"]}
    assert shared < {block["id"] for block in talk.tenant.state(helper)["blocks"]}
    assert len(talk.get("/v1/agents/")) == 4


@pytest.mark.promise("agents.files.groups")
def test_groups_of_every_kind_come_along_with_the_agent_that_opens_them(talk: Talk) -> None:
    lead, ann, bob = (talk.agent(name=name) for name in ("lead", "ann", "bob"))
    ids = [ann["id"], bob["id"]]
    for config in (
        {"manager_type": "supervisor", "manager_agent_id": lead["id"]},
        {"manager_type": "dynamic", "manager_agent_id": lead["id"], "max_turns": 3},
        {"manager_type": "round_robin", "max_turns": 2},
    ):
        body = {"agent_ids": ids, "description": config["manager_type"], "manager_config": config}
        made = talk.ask("POST", "/v1/groups/", json=body)
    talk.model.script(says("Figs."), says("Dates."))
    talk.ask("POST", f"/v1/groups/{made['id']}/messages", json={"input": "What is best?"})
    assert taken(talk.http, bob["id"])["groups"] == []
    alone = brought(talk.http, taken(talk.http, bob["id"]))
    assert len(talk.get(f"/v1/groups/{made['id']}/messages")) == 3, alone

    led = taken(talk.http, lead["id"])
    assert [each["name"] for each in led["agents"]] == ["lead", "ann", "bob"]
    assert [each["manager_config"]["manager_type"] for each in led["groups"]] == ["supervisor", "dynamic"]
    new_lead, *members = brought(talk.http, led)
    group = talk.tenant.state(new_lead)["managed_group"]
    assert (group["manager_type"], group["max_turns"], group["agent_ids"]) == ("dynamic", 3, members)
    assert group["termination_token"] == "DONE!"

    file = taken(talk.http, ann["id"])
    assert [each["manager_config"] for each in file["groups"]] == [
        {"manager_type": "round_robin", "manager_agent_id": None, "max_turns": 2}
    ]
    new_ann, new_bob = brought(talk.http, file)
    (copy,) = talk.get(f"/v1/agents/{new_bob}/groups")
    assert (copy["agent_ids"], copy["max_turns"]) == ([new_ann, new_bob], 2)
    said = talk.get(f"/v1/groups/{copy['id']}/messages")
    assert [(each["sender_id"], each["content"]) for each in said] == [
        (None, "What is best?"),
        (new_ann, "Figs."),
        (new_bob, "Dates."),
    ]
    talk.model.script(says("Rain."), says("Snow."))
    talk.ask("POST", f"/v1/groups/{copy['id']}/messages", json={"input": "And worst?"})
    assert f"({new_bob}) said in the group" in str(talk.model.journal[-2].messages)


@pytest.mark.promise("agents.files.legacy")
def test_the_older_format_is_read(talk: Talk) -> None:
    file = json.decode((Path(__file__).parent / "legacy.af").read_bytes())
    (agent_id,) = brought(talk.http, file, append_copy_suffix=False)
    state = talk.tenant.state(agent_id)
    assert (state["name"], state["agent_type"], state["tags"]) == ("sam", "memgpt_agent", ["old"])
    assert {block["label"]: block["value"] for block in state["blocks"]} == {
        "human": "Likes tea.",
        "persona": "I am Sam.",
    }
    assert [secret["key"] for secret in state["secrets"]] == ["KEY"]
    assert [tool["name"] for tool in state["tools"]] == ["roll_dice", "send_message"]
    assert [rule["type"] for rule in state["tool_rules"]] == ["continue_loop", "exit_loop"]
    talk.say(state, "Tea?", calls("send_message", message="Yes.", thinking="Tea."))
    sent = talk.model.journal[-1].body["messages"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool", "user"]
    assert "Hello Sam" in sent[1]["content"]


@pytest.mark.promise("agents.files.mended")
def test_a_history_that_no_provider_would_read_is_mended(talk: Talk) -> None:
    def message(place: int, role: str, **rest: object) -> JsonObject:
        return {"id": f"message-{place}", "role": role, "content": f"m{place}", **rest}

    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said = [
        message(0, "user"),
        message(1, "assistant", tool_calls=[call]),
        message(2, "user", created_at="9999-12-31T23:59:59Z"),
        message(3, "tool", tool_call_id="c9"),
        message(4, "user", created_at="0001-01-01T00:00:00Z"),
    ]
    ids = [each["id"] for each in said]
    (agent_id,) = brought(talk.http, simple_file(messages=said, in_context_message_ids=[*ids, ids[0]]))
    agent = talk.tenant.state(agent_id)
    talk.say(agent, "Well?", says("Well."))
    sent = talk.model.journal[-1].body["messages"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool", "user", "user", "user"]
    newest = talk.history(agent, limit=1)[0]
    assert newest["content"] == "Well."


@pytest.mark.promise("agents.files.refused")
def test_a_file_changed_anywhere_is_read_or_refused_and_never_breaks_anything(
    talk: Talk, lee: JsonObject
) -> None:
    Chat.begin(talk, lee, isolated_block_labels=["human"]).say("Psst.", says("Yes?"))
    file, dice = taken(talk.http, lee["id"]), random.Random(11)
    for _ in range(12):
        odd = changed(file, dice)
        agents, blocks = (talk.get(f"/v1/{what}/count") for what in ("agents", "blocks"))
        answer = bring(talk.http, odd)
        assert answer.status_code < 500, f"{answer.text[:300]} of {json.encode_text(odd)}"
        if answer.status_code == 200:
            for agent_id in answer.json()["agent_ids"]:
                taken(talk.http, agent_id)
                talk.get(f"/v1/agents/{agent_id}/messages")
        else:
            assert [agents, blocks] == [talk.get(f"/v1/{what}/count") for what in ("agents", "blocks")]


def _refused() -> dict[str, JsonObject | bytes]:
    """Files that cannot be read, each for another reason."""
    two = {"id": "block-0", "label": "x", "value": "y"}
    message = {"id": "message-0", "role": "user", "content": "x"}
    return {
        "no json": b"not json",
        "no object": b"[]",
        "no agents": b'{"a": 1}',
        "an empty list": b'{"agents": []}',
        "deep": b'{"agents": ' + b"[" * 500 + b"]" * 500 + b"}",
        "a NUL": json.encode(simple_file(system="x")).replace(b'"x"', b'"\\u0000"'),
        "a wrong prefix": simple_file(id="agnt-0"),
        "an unknown block": simple_file(block_ids=["block-7"]),
        "an unknown tool": simple_file(tool_ids=["tool-7"]),
        "an unknown folder": simple_file(source_ids=["source-7"]),
        "an id twice": simple_file() | {"blocks": [two, two]},
        "a message out of nowhere": simple_file(in_context_message_ids=["message-5"]),
        "a message twice": simple_file(messages=[message, message]),
        "a role nobody has": simple_file(messages=[message | {"role": "prophet"}]),
        "a kind nobody is": simple_file(agent_type="oracle"),
        "a window below zero": simple_file(llm_config=LLM | {"context_window": -1}),
        "rules that cannot work": simple_file(tool_rules=[{"type": "conditional", "tool_name": "x"}]),
        "a long secret": simple_file(secrets={"k" * 4000: "v"}),
        "a long tag": simple_file(tags=["t" * 4000]),
        "a value beyond its limit": simple_file(block_ids=["block-0"])
        | {"blocks": [two | {"limit": 0}]},
        "two blocks of one label": simple_file(block_ids=["block-0", "block-1"])
        | {"blocks": [two, two | {"id": "block-1"}]},
        "a tool without anything": simple_file(tool_ids=["tool-0"]) | {"tools": [{"id": "tool-0", "name": "t"}]},
        "a package with options": simple_file()
        | {"tools": [{"id": "tool-0", "source_code": SOURCE.format(name="t"), "pip_requirements": [{"name": "-r x"}]}]},
        "a group of strangers": simple_file()
        | {"groups": [{"id": "group-0", "agent_ids": ["agent-9"], "description": ""}]},
        "a passage without text": simple_file() | {"remanence": {"archives": [
            {"id": "archive-0", "name": "a", "agent_ids": ["agent-0"], "passages": [{"text": " "}]}]}},
        "a name with a slash": simple_file(name="a/b"),
        "a zone nobody lives in": simple_file(timezone="Mars/Olympus"),
    }  # fmt: skip


@pytest.mark.promise("agents.files.refused")
def test_a_file_that_cannot_be_read_is_refused_and_leaves_nothing(talk: Talk) -> None:
    blocks = [{"id": "block-9", "label": "left", "value": "behind"}]
    tools = [{"id": "tool-9", "name": "left", "source_code": SOURCE.format(name="left")}]
    for why, file in _refused().items():
        whole = file if isinstance(file, bytes) else {
            **file, "blocks": [*file.get("blocks", ()), *blocks], "tools": [*file.get("tools", ()), *tools]
        }  # fmt: skip
        answer = bring(talk.http, whole)
        assert answer.status_code in (400, 409, 422), f"{why}: {answer.status_code} {answer.text[:300]}"
        assert len(answer.json()["detail"]) < 2000, why
    assert talk.get("/v1/agents/") == talk.get("/v1/blocks/") == talk.get("/v1/tools/", name="left") == []
    with pytest.raises(BadRequestError):
        talk.sdk.agents.import_file(file=("x.af", b"not json"))
    assert talk.http.post("/v1/agents/import", data={"name": "x"}).status_code == 422

"""Every operation that clients of the retired server know is called once, by the method of the SDK that is
made for it where there is one, and its answer has the shape that the contract gives it."""

from typing import Any

import pytest
from tests.support.contract import TINY_MCP, Caller, read_contract, watched
from tests.support.script import Gate, calls, says
from tests.support.scripted_model import ScriptedModel
from tests.support.tenants import Tenant
from tests.support.waiting import until_sync

from remanence.kit import json

MODEL = "openai/gpt-4o-mini"
EMBEDDING = "openai/text-embedding-3-small"
SOURCE = 'def double(n: int) -> int:\n    """Doubles.\n\n    Args:\n        n: A number.\n    """\n    return 2 * n\n'
TINY = {key: value for key, value in TINY_MCP.items() if key != "mcp_server_type"}

ELSEWHERE = {
    "GET /v1/environments": "computers that a hosted service connects",
    "GET /v1/environments/{deviceId}": "the same",
    "POST /v1/environments/{connectionId}/messages": "the same",
    "GET /v1/mcp-servers/connect/{mcp_server_id}": "a stream; test_mcp.py signs in",
    "POST /v1/tools/mcp/servers/connect": "a stream; test_mcp.py signs in",
    "GET /v1/tools/mcp/oauth/callback": "for browsers; test_mcp.py signs in",
}
"""What is not called here, and why."""


@pytest.fixture
def caller(tenant: Tenant, shared_model: ScriptedModel) -> Any:
    shared_model.forget()
    shared_model.responder = lambda _: says("Well.")
    caller = watched(tenant)
    yield caller
    shared_model.responder = None
    caller.http.close()
    caller.sdk.close()


@pytest.mark.promise("contract.operations")
def test_every_operation_answers_as_the_contract_has_it(caller: Caller, shared_model: ScriptedModel) -> None:
    agent_id = agents(caller)
    block_id = blocks(caller, agent_id)
    tools(caller, agent_id, shared_model)
    messages(caller, agent_id)
    runs_and_steps(caller, agent_id)
    cancelling(caller, agent_id, shared_model)
    conversations(caller, agent_id, shared_model)
    archives(caller, agent_id)
    for kind in ("folders", "sources"):
        folders(caller, agent_id, kind)
    identities(caller, agent_id, block_id)
    groups(caller, agent_id, block_id)
    mcp_servers(caller)
    older_mcp_servers(caller)
    providers(caller, shared_model)
    sandboxes(caller)
    later(caller, agent_id)
    templates(caller, agent_id)
    accounts(caller, agent_id)
    the_rest(caller, agent_id)
    caller.by_sdk("agents.delete", agent_id)

    witness = caller.witness
    operations = [each for each in read_contract() if str(each) not in ELSEWHERE]
    missing = [str(each) for each in operations if str(each) not in witness.called]
    by_others = [
        f"{each} was called by {witness.called[str(each)]}, not by {each.sdk_method}"
        for each in operations
        if str(each) in witness.called and witness.called[str(each)] != each.sdk_method
    ]
    assert missing + by_others + witness.problems == []


def agents(call: Caller) -> str:
    block = {"label": "human", "value": "Name: Eve"}
    made = call.by_sdk(
        "agents.create", model=MODEL, embedding=EMBEDDING, memory_blocks=[block], tags=["first"]
    )
    call.by_sdk("agents.list", limit=10)
    call.by_sdk("agents.update", made.id, description="Calm.")
    call.by_sdk("agents.retrieve", made.id, include=["agent.blocks", "agent.tools", "agent.tags"])
    call.by_sdk("agents.recompile", made.id)
    exported = call.by_sdk("agents.export_file", made.id)
    imported = call.by_sdk("agents.import_file", file=("eve.af", exported.encode(), "application/json"))
    call.by_path("DELETE", f"/agents/{imported.agent_ids[0]}")
    for path in ("count", f"{made.id}/context", f"{made.id}/core-memory", f"{made.id}/groups"):
        call.by_path("GET", f"/agents/{path}")
    call.by_path("POST", f"/agents/{made.id}/export", json={})
    call.by_path("POST", f"/agents/{made.id}/system-prompt/recompile")
    call.by_sdk("tags.list")
    return made.id


def blocks(call: Caller, agent_id: str) -> str:
    made = call.by_sdk("blocks.create", label="notes", value="None yet.")
    call.by_sdk("blocks.list")
    call.by_sdk("blocks.retrieve", made.id)
    call.by_sdk("blocks.update", made.id, value="One.")
    call.by_sdk("agents.blocks.attach", made.id, agent_id=agent_id)
    call.by_sdk("blocks.agents.list", made.id)
    call.by_sdk("agents.blocks.list", agent_id)
    call.by_sdk("agents.blocks.retrieve", "notes", agent_id=agent_id)
    call.by_sdk("agents.blocks.update", "notes", agent_id=agent_id, value="Two.")
    call.by_sdk("agents.blocks.detach", made.id, agent_id=agent_id)
    call.by_path("GET", "/blocks/count")
    other = call.by_path("POST", "/blocks/", json={"label": "other", "value": ""})
    call.by_sdk("blocks.delete", other["id"])
    return made.id


def tools(call: Caller, agent_id: str, model: ScriptedModel) -> None:
    made = call.by_sdk("tools.create", source_code=SOURCE)
    call.by_sdk("tools.upsert", source_code=SOURCE)
    call.by_sdk("tools.list", name="double")
    call.by_sdk("tools.retrieve", made.id)
    call.by_sdk("tools.update", made.id, tags=["sums"])
    call.by_sdk("tools.search", query="double")
    call.by_sdk("agents.tools.attach", made.id, agent_id=agent_id)
    call.by_sdk("agents.tools.list", agent_id)
    call.by_sdk("agents.tools.update_approval", "double", agent_id=agent_id, body_requires_approval=False)
    call.by_sdk("agents.tools.run", "double", agent_id=agent_id, args={"n": 21})
    call.by_sdk("agents.tools.detach", made.id, agent_id=agent_id)
    call.by_path("GET", "/tools/count")
    call.by_path("POST", "/tools/run", json={"source_code": SOURCE, "args": {"n": 21}})
    call.by_path("POST", "/tools/add-base-tools")
    call.by_path("POST", "/tools/generate-schema", json={"code": SOURCE})
    model.responder = lambda _: calls(
        "write_tool", source_code=SOURCE, sample_args_json='{"n": 1}', explanation="Twice."
    )
    call.by_path(
        "POST",
        "/tools/generate-tool",
        json={"tool_name": "double", "prompt": "Doubles a number.", "handle": MODEL},
    )
    model.responder = lambda _: says("Well.")
    call.by_sdk("tools.delete", made.id)


def messages(call: Caller, agent_id: str) -> None:
    path = f"/agents/{agent_id}"
    call.by_sdk("agents.messages.create", agent_id, input="The owl is awake.")
    call.by_sdk("agents.messages.stream", agent_id, input="Hello again", stream_tokens=True)
    said = call.by_sdk("agents.messages.list", agent_id)
    call.by_sdk("messages.list")
    call.by_sdk("messages.retrieve", said[-1].id)
    call.by_sdk("messages.search", query="owl")
    call.by_path("POST", "/agents/messages/search", json={"query": "owl"})
    call.by_path("POST", f"{path}/messages/preview-raw-payload", json={"input": "Hello"})
    call.by_path("PATCH", f"{path}/messages/{said[-1].id}", json={"content": "Other."})
    call.by_path("POST", f"{path}/generate", json={"prompt": "Say hello."})
    call.by_sdk("agents.messages.compact", agent_id)
    call.by_path("POST", "/chat/completions", json={"model": agent_id, "messages": [_said("Hello")]})
    call.by_path("POST", f"/voice-beta/{agent_id}/chat/completions", json={})


def runs_and_steps(call: Caller, agent_id: str) -> None:
    run = call.by_sdk("agents.messages.create_async", agent_id, input="Later")
    until_sync(lambda: call.by_path("GET", f"/runs/{run.id}")["status"] == "completed")
    call.by_sdk("runs.list")
    call.by_sdk("runs.retrieve", run.id)
    call.by_sdk("runs.messages.list", run.id)
    call.by_sdk("runs.messages.stream", run.id)
    call.by_sdk("runs.usage.retrieve", run.id)
    call.by_sdk("runs.trace.retrieve", run.id)
    step = call.by_sdk("runs.steps.list", run.id)[0]
    call.by_sdk("steps.list")
    call.by_sdk("steps.retrieve", step.id)
    call.by_sdk("steps.feedback.create", step.id, feedback="positive")
    call.by_sdk("steps.messages.list", step.id)
    call.by_sdk("steps.metrics.retrieve", step.id)
    call.by_sdk("steps.trace.retrieve", step.id)
    call.by_path("GET", f"/runs/{run.id}/metrics")
    call.by_path("GET", "/runs/active")
    call.by_path("DELETE", f"/runs/{run.id}")


def cancelling(call: Caller, agent_id: str, model: ScriptedModel) -> None:
    gate = Gate()
    model.responder = lambda _: says("Never.").held(gate)
    call.by_path("POST", f"/agents/{agent_id}/messages/async", json={"input": "Wait"})
    call.by_sdk("agents.messages.cancel", agent_id)
    gate.open()
    model.responder = lambda _: says("Well.")
    call.by_sdk("agents.messages.reset", agent_id, add_default_initial_messages=False)


def conversations(call: Caller, agent_id: str, model: ScriptedModel) -> None:
    made = call.by_sdk("conversations.create", agent_id=agent_id)
    call.by_sdk("conversations.list", agent_id=agent_id)
    call.by_sdk("conversations.retrieve", made.id)
    call.by_sdk("conversations.update", made.id, summary="Owls")
    for text in ("The owl sleeps.", "The owl wakes."):
        call.by_sdk("conversations.messages.create", made.id, input=text, streaming=False)
    call.by_sdk("conversations.messages.list", made.id)
    call.by_sdk("conversations.recompile", made.id)
    call.by_sdk("conversations.fork", made.id)
    call.by_sdk("conversations.messages.compact", made.id)
    path = f"/conversations/{made.id}"
    call.by_path("POST", f"{path}/messages/preview-raw-payload", json={"input": "Hello"})
    gate = Gate()
    model.responder = lambda _: says("Never.").held(gate)
    background = {"input": "Wait", "background": True, "streaming": True}
    with call.http.stream("POST", f"/v1{path}/messages", json=background) as stream:
        lines = stream.iter_lines()
        next(lines)
        call.by_sdk("conversations.cancel", made.id)
        gate.open()
        list(lines)
    model.responder = lambda _: says("Well.")
    run_id = call.by_path("GET", "/runs/", params={"conversation_id": made.id, "background": True})[0]["id"]
    call.by_sdk("conversations.messages.stream", made.id, run_id=run_id)
    call.by_sdk("conversations.delete", made.id)


def archives(call: Caller, agent_id: str) -> None:
    made = call.by_sdk("archives.create", name="owls", embedding=EMBEDDING)
    call.by_sdk("archives.list")
    call.by_sdk("archives.retrieve", made.id)
    call.by_sdk("archives.update", made.id, description="About owls.")
    one = call.by_sdk("archives.passages.create", made.id, text="Owls see in the dark.", tags=["eyes"])
    call.by_sdk("archives.passages.create_many", made.id, passages=[{"text": "They fly without a sound."}])
    call.by_sdk("agents.archives.attach", made.id, agent_id=agent_id)
    call.by_path("GET", f"/archives/{made.id}/agents")
    call.by_sdk("passages.search", query="owls")
    added = call.by_sdk("agents.passages.create", agent_id, text="Eve likes owls.")
    call.by_sdk("agents.passages.list", agent_id)
    call.by_sdk("agents.passages.search", agent_id, query="owls")
    call.by_sdk("agents.passages.delete", added[0].id, agent_id=agent_id)
    call.by_sdk("archives.passages.delete", one.id, archive_id=made.id)
    call.by_sdk("agents.archives.detach", made.id, agent_id=agent_id)
    call.by_sdk("archives.delete", made.id)
    call.by_path("GET", "/embeddings/total_storage_size")


def folders(call: Caller, agent_id: str, kind: str) -> None:
    """The SDK speaks of folders; their older name is called by its paths."""
    is_new = kind == "folders"
    upload = {"file": ("owls.txt", b"Owls see in the dark.\n", "text/plain")}
    given = {"name": f"owls in {kind}", "embedding": EMBEDDING}
    at = f"/{kind}"
    if is_new:
        folder_id = call.by_sdk("folders.create", **given).id
        file_id = call.by_sdk("folders.files.upload", folder_id, **upload).id
    else:
        folder_id = call.by_path("POST", f"{at}/", json=given)["id"]
        file_id = call.by_path("POST", f"{at}/{folder_id}/upload", files=upload)["id"]
    at_file = f"{at}/{folder_id}/files/{file_id}"
    until_sync(lambda: call.by_path("GET", at_file)["processing_status"] == "completed", 20)
    call.by_path("GET", f"{at}/{folder_id}/passages")
    call.by_path("GET", f"{at}/count")
    call.by_path("GET", f"{at}/metadata")
    call.by_path("GET", f"{at}/name/owls in {kind}")
    if not is_new:
        for path in ("", "/agents", "/files"):
            call.by_path("GET", f"{at}/{folder_id}{path}")
        call.by_path("GET", f"{at}/")
        call.by_path("PATCH", f"{at}/{folder_id}", json={"description": "About owls."})
        call.by_path("PATCH", f"/agents/{agent_id}/sources/attach/{folder_id}")
        call.by_path("GET", f"/agents/{agent_id}/sources")
        call.by_path("PATCH", f"/agents/{agent_id}/sources/detach/{folder_id}")
        call.by_path("DELETE", f"{at}/{folder_id}/{file_id}")
        call.by_path("DELETE", f"{at}/{folder_id}")
        return
    call.by_sdk("folders.list")
    call.by_sdk("folders.retrieve", folder_id)
    call.by_sdk("folders.update", folder_id, description="About owls.")
    call.by_sdk("agents.folders.attach", folder_id, agent_id=agent_id)
    call.by_sdk("agents.folders.list", agent_id)
    call.by_sdk("folders.agents.list", folder_id)
    call.by_sdk("folders.files.list", folder_id)
    call.by_sdk("folders.files.retrieve", file_id, folder_id=folder_id)
    call.by_sdk("agents.files.list", agent_id)
    call.by_sdk("agents.files.close", file_id, agent_id=agent_id)
    call.by_sdk("agents.files.open", file_id, agent_id=agent_id)
    call.by_sdk("agents.files.close_all", agent_id)
    call.by_sdk("agents.folders.detach", folder_id, agent_id=agent_id)
    call.by_sdk("folders.files.delete", file_id, folder_id=folder_id)
    call.by_sdk("folders.delete", folder_id)


def identities(call: Caller, agent_id: str, block_id: str) -> None:
    given = {"identifier_key": "eve", "name": "Eve", "identity_type": "user"}
    made = call.by_path("POST", "/identities/", json=given)["id"]
    call.by_path("PUT", "/identities/", json=given)
    call.by_path("GET", "/identities/")
    call.by_path("GET", "/identities/count")
    call.by_path("GET", f"/identities/{made}")
    call.by_path("PATCH", f"/identities/{made}", json={"name": "Eva"})
    properties = [{"key": "age", "value": 33, "type": "number"}]
    call.by_path("PUT", f"/identities/{made}/properties", json=properties)
    call.by_sdk("agents.identities.attach", made, agent_id=agent_id)
    call.by_path("PATCH", f"/blocks/{block_id}/identities/attach/{made}")
    call.by_path("GET", f"/identities/{made}/agents")
    call.by_path("GET", f"/identities/{made}/blocks")
    call.by_sdk("agents.identities.detach", made, agent_id=agent_id)
    call.by_path("PATCH", f"/blocks/{block_id}/identities/detach/{made}")
    call.by_path("DELETE", f"/identities/{made}")


def groups(call: Caller, agent_id: str, block_id: str) -> None:
    given = {"agent_ids": [agent_id], "description": "One and only."}
    made = call.by_path("POST", "/groups/", json=given)["id"]
    path = f"/groups/{made}"
    call.by_path("GET", "/groups/")
    call.by_path("GET", "/groups/count")
    call.by_path("GET", path)
    call.by_path("PATCH", path, json={"description": "Alone."})
    call.by_path("PATCH", f"{path}/blocks/attach/{block_id}")
    call.by_path("PATCH", f"{path}/blocks/detach/{block_id}")
    call.by_path("POST", f"{path}/messages", json={"input": "Hello"})
    said = call.by_path("GET", f"{path}/messages")
    call.by_path("PATCH", f"{path}/messages/{said[-1]['id']}", json={"content": "Other."})
    call.by_path("PATCH", f"{path}/reset-messages")
    call.by_path("DELETE", path)


def mcp_servers(call: Caller) -> None:
    config = TINY_MCP
    made = call.by_sdk("mcp_servers.create", server_name="tiny", config=config)
    call.by_sdk("mcp_servers.list")
    call.by_sdk("mcp_servers.retrieve", made.id)
    call.by_sdk("mcp_servers.update", made.id, server_name="smaller", config=config)
    call.by_sdk("mcp_servers.refresh", made.id)
    tool = call.by_sdk("mcp_servers.tools.list", made.id)[0]
    call.by_sdk("mcp_servers.tools.retrieve", tool.id, mcp_server_id=made.id)
    call.by_sdk("mcp_servers.tools.run", tool.id, mcp_server_id=made.id, args={})
    call.by_sdk("mcp_servers.delete", made.id)


def older_mcp_servers(call: Caller) -> None:
    path = "/tools/mcp/servers"
    given = {"server_name": "old", "stdio_config": {"server_name": "old", "type": "stdio", **TINY}}
    config = given["stdio_config"]
    call.by_path("PUT", path, json=config)
    call.by_path("GET", path)
    call.by_path("POST", f"{path}/test", json=config)
    tools = call.by_path("GET", f"{path}/old/tools")
    call.by_path("POST", f"{path}/old/{tools[0]['name']}")
    call.by_path("POST", f"{path}/old/tools/{tools[0]['name']}/execute", json={"args": {}})
    call.by_path("POST", f"{path}/old/resync")
    call.by_path("PATCH", f"{path}/old", json={"stdio_config": config})
    call.by_path("DELETE", f"{path}/old")


def providers(call: Caller, model: ScriptedModel) -> None:
    access = {"provider_type": "openai", "api_key": "sk-own", "base_url": model.base_url}
    made = call.by_path("POST", "/providers/", json=access | {"name": "own"})["id"]
    call.by_path("GET", "/providers/")
    call.by_path("GET", f"/providers/{made}")
    call.by_path("PATCH", f"/providers/{made}", json={"api_key": "sk-other"})
    call.by_path("POST", "/providers/check", json=access)
    call.by_path("POST", f"/providers/{made}/check")
    call.by_path("PATCH", f"/providers/{made}/refresh")
    call.by_sdk("models.list")
    call.by_sdk("models.embeddings.list")
    call.by_path("DELETE", f"/providers/{made}")


def sandboxes(call: Caller) -> None:
    path = "/sandbox-config"
    made = call.by_path("POST", f"{path}/local/default")["id"]
    call.by_path("POST", f"{path}/e2b/default")
    call.by_path("GET", f"{path}/")
    call.by_path("POST", f"{path}/local/recreate-venv")
    call.by_path("PATCH", f"{path}/{made}", json={"config": {"venv_name": "other"}})
    variable = call.by_path("POST", f"{path}/{made}/environment-variable", json={"key": "A", "value": "b"})
    call.by_path("GET", f"{path}/{made}/environment-variable")
    call.by_path("PATCH", f"{path}/environment-variable/{variable['id']}", json={"value": "c"})
    call.by_path("DELETE", f"{path}/environment-variable/{variable['id']}")
    call.by_path("DELETE", f"{path}/{made}")
    made = call.by_path("POST", f"{path}/local", json={})["id"]
    call.by_path("DELETE", f"{path}/{made}")
    call.by_path("POST", f"{path}/", json={"config": {"sandbox_dir": "tools"}})


def later(call: Caller, agent_id: str) -> None:
    made = call.by_sdk(
        "agents.schedule.create",
        agent_id,
        messages=[_said("Good morning")],
        schedule={"type": "recurring", "cron_expression": "0 8 * * *"},
    )
    call.by_sdk("agents.schedule.list", agent_id)
    call.by_sdk("agents.schedule.retrieve", made.id, agent_id=agent_id)
    call.by_sdk("agents.schedule.delete", made.id, agent_id=agent_id)
    request = {"agent_id": agent_id, "messages": [_said("Hello")]}
    batch = call.by_path("POST", "/messages/batches", json={"requests": [request]})["id"]
    call.by_path("GET", "/messages/batches")
    until_sync(lambda: call.by_path("GET", f"/messages/batches/{batch}")["status"] == "completed", 20)
    call.by_path("GET", f"/messages/batches/{batch}/messages")
    for verb in ("batch", "job"):
        other = call.by_path("POST", "/messages/batches", json={"requests": [request] * 50})["id"]
        place = "/messages/batches" if verb == "batch" else "/jobs"
        call.by_path("PATCH", f"{place}/{other}/cancel")
    call.by_path("GET", "/jobs/")
    call.by_path("GET", "/jobs/active")
    call.by_path("GET", f"/jobs/{batch}")
    call.by_path("DELETE", f"/jobs/{batch}")


def templates(call: Caller, agent_id: str) -> None:
    call.by_sdk("templates.create", type="agent", agent_id=agent_id, name="calm")
    call.by_sdk("templates.save", "calm", message="As it is.")
    call.by_sdk("templates.agents.create", "calm:latest")
    exported = json.decode(call.by_sdk("agents.export_file", agent_id))
    call.by_sdk("templates.update", "calm", agent_file_json=exported)
    call.by_sdk("templates.rollback", "calm", version="1")
    call.by_sdk("templates.delete", "calm")


def accounts(call: Caller, agent_id: str) -> None:
    organisation = call.by_path("POST", "/admin/orgs/", json={"name": "Owls"})["id"]
    call.by_path("GET", "/admin/orgs/")
    call.by_path("PATCH", "/admin/orgs/", params={"org_id": organisation}, json={"name": "Night owls"})
    user = call.by_path("POST", "/admin/users/", json={"name": "Eve", "organization_id": organisation})["id"]
    call.by_path("GET", "/admin/users/")
    call.by_path("PUT", "/admin/users/", json={"id": user, "name": "Eva"})
    call.by_path("DELETE", "/admin/users/", params={"user_id": user})
    call.by_path("DELETE", "/admin/orgs/", params={"org_id": organisation})
    policy = [{"id": agent_id, "type": "agent", "access": ["read_messages"]}]
    made = call.by_sdk("access_tokens.create", hostname="https://owls.example", policy=policy)
    call.by_sdk("access_tokens.list")
    call.by_sdk("access_tokens.delete", made.token)


def the_rest(call: Caller, agent_id: str) -> None:
    call.by_sdk("health")
    call.by_path("GET", "/ready/")


def _said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}

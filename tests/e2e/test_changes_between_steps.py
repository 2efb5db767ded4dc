"""What others change while an agent is idle or at work: its next step must know."""

import pytest
from tests.support.script import Gate, calls, says
from tests.support.talks import Talk, kinds, stop_reason
from tests.support.wire import read_frames

FIGS = calls("memory_insert", label="human", new_string="Eve likes figs.")


@pytest.mark.promise("window.fresh")
def test_a_change_between_turns_is_seen_in_the_next_one(talk: Talk) -> None:
    agent = talk.agent()
    path = f"/v1/agents/{agent['id']}"
    talk.say(agent, "Hi", says("Hello!"))
    talk.ask(
        "PATCH", path, json={"system": "Be brief.", "model": "openai/gpt-4o", "timezone": "Asia/Kolkata"}
    )
    talk.ask("PATCH", f"{path}/tools/attach/{talk.tenant.tool_id('memory_rethink')}")
    talk.ask("PATCH", f"{path}/tools/detach/{talk.tenant.tool_id('conversation_search')}")
    talk.say(agent, "Hi", says("Hello!"))
    assert talk.model.last.system.startswith("Be brief.")
    assert talk.model.last.model == "gpt-4o"
    assert talk.model.last.tool_names == ["memory_insert", "memory_replace", "memory_rethink"]


@pytest.mark.promise("window.fresh")
def test_a_block_changed_between_turns_is_what_the_next_tool_edits(talk: Talk) -> None:
    agent = talk.agent()
    human = next(block["id"] for block in agent["blocks"] if block["label"] == "human")
    talk.say(agent, "Hi", says("Hello!"))
    talk.ask("PATCH", f"/v1/blocks/{human}", json={"value": "Name: Ada"})
    talk.say(agent, "Figs!", FIGS, says("Noted."))
    assert talk.block(agent, "human") == "Name: Ada\nEve likes figs."
    talk.ask("PATCH", f"/v1/agents/{agent['id']}/core-memory/blocks/human", json={"value": "Name: Bob"})
    talk.say(agent, "Figs!", FIGS, says("Noted."))
    assert talk.block(agent, "human") == "Name: Bob\nEve likes figs."
    assert "Name: Bob" in str(talk.model.journal[-2].messages[-2]["content"])


@pytest.mark.promise("window.fresh")
def test_a_block_changed_while_the_model_thinks_is_not_overwritten(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(FIGS.held(gate), says("Noted."))
    with talk.open_stream(agent, "Figs!") as response:
        gate.reached.wait_sync()
        path = f"/v1/agents/{agent['id']}/core-memory/blocks/human"
        talk.ask("PATCH", path, json={"value": "Name: Ada"})
        gate.open()
        frames = read_frames(response.read())
    assert frames[-1].kind == "[DONE]"
    assert talk.block(agent, "human") == "Name: Ada\nEve likes figs."


@pytest.mark.promise("window.fresh")
def test_two_agents_edit_one_block_at_once_and_lose_nothing(talk: Talk) -> None:
    block = talk.tenant.block("notes", "Begin.")
    agents = [talk.agent(block_ids=[block["id"]]) for _ in range(2)]
    gate = Gate()
    slow = calls("memory_insert", label="notes", new_string="Slow.").held(gate)
    talk.model.script(slow)
    with talk.open_stream(agents[0], "Note") as response:
        gate.reached.wait_sync()
        talk.say(agents[1], "Note", calls("memory_insert", label="notes", new_string="Quick."), says("Done."))
        talk.model.script(says("Done."))
        gate.open()
        response.read()
    assert talk.block(agents[0], "notes") == "Begin.\nQuick.\nSlow."


@pytest.mark.promise("window.fresh")
def test_a_block_detached_while_the_model_thinks_is_an_error_return(talk: Talk) -> None:
    agent = talk.agent()
    human = next(block["id"] for block in agent["blocks"] if block["label"] == "human")
    gate = Gate()
    talk.model.script(FIGS.held(gate), says("There is no such block."))
    with talk.open_stream(agent, "Figs!") as response:
        gate.reached.wait_sync()
        talk.ask("PATCH", f"/v1/agents/{agent['id']}/core-memory/blocks/detach/{human}")
        gate.open()
        frames = read_frames(response.read())
    assert [frame["status"] for frame in frames if frame.kind == "tool_return_message"] == ["error"]
    assert talk.get(f"/v1/blocks/{human}")["value"] == "Name: Eve"


@pytest.mark.promise("window.fresh")
def test_a_reset_while_the_model_thinks_leaves_a_history_that_can_be_sent(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Hi", says("Hello!"))
    gate = Gate()
    talk.model.script(FIGS, says("Noted.").held(gate))
    with talk.open_stream(agent, "Figs!") as response:
        gate.reached.wait_sync()
        talk.ask("PATCH", f"/v1/agents/{agent['id']}/reset-messages", json={})
        gate.open()
        response.read()
    assert stop_reason(talk.say(agent, "Still there?", says("Yes."))) == "end_turn"
    assert talk.model.last.roles[0] == "system"
    assert talk.model.last.last_user == "Still there?"
    assert kinds(talk.history(agent))[-2:] == ["user", "assistant"]


@pytest.mark.promise("runs.delete")
def test_a_run_at_work_is_not_deleted_from_under_it(talk: Talk) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(says("late").held(gate))
    with talk.open_stream(agent, "Hi") as response:
        gate.reached.wait_sync()
        run_id = talk.get("/v1/runs/", agent_id=agent["id"])[0]["id"]
        assert talk.http.delete(f"/v1/runs/{run_id}").status_code == 409
        gate.open()
        assert read_frames(response.read())[1]["content"] == "late"
    assert talk.http.delete(f"/v1/runs/{run_id}").status_code == 200

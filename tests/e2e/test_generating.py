"""Bare calls of models: a text for an agent's owner, a tool for whoever describes it."""

from typing import Any

import pytest
from tests.e2e.test_tools_from_source import ROLL, ROLL_SCHEMA
from tests.support.script import Line, calls, calls_raw, fails, says
from tests.support.talks import Talk

from remanence.kit.json import JsonObject

CITY: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def wrote(source: str, sample: str = '{"sides": 6}') -> Line:
    return calls("write_tool", source_code=source, sample_args_json=sample, explanation="It rolls dice.")


def wish(talk: Talk, **change: Any) -> Any:
    body: JsonObject = {
        "tool_name": "roll_dice",
        "prompt": "Roll dice.",
        "handle": "openai/gpt-4o-mini",
    } | change
    body["validation_errors"] = []
    return talk.http.post("/v1/tools/generate-tool", json=body)


@pytest.mark.promise("agents.generate")
def test_a_bare_call_knows_nothing_of_the_agent_and_is_not_remembered(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says("short").counting(prompt=67, completion=2))
    path = f"/v1/agents/{agent['id']}/generate"
    answer = talk.ask("POST", path, json={"prompt": "Say 'short'", "system_prompt": "Be brief."})
    assert (answer["content"], answer["model"]) == ("short", "gpt-4o-mini")
    usage = answer["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["step_count"]) == (67, 2, 0)
    assert [each["role"] for each in talk.model.last.messages] == ["system", "user"]
    assert talk.model.last.system == "Be brief."
    assert talk.model.last.tools == []
    assert talk.get("/v1/runs/", agent_id=agent["id"]) == []
    assert talk.tenant.state(agent["id"])["message_ids"] == agent["message_ids"]


@pytest.mark.promise("agents.generate")
def test_another_model_and_a_schema_can_be_asked_for(talk: Talk) -> None:
    agent = talk.agent()
    talk.model.script(says('{"city": "Rome"}'), fails(401, {"error": {"message": "bad key"}}))
    path = f"/v1/agents/{agent['id']}/generate"
    given = {"prompt": "A city", "override_model": "openai/gpt-4o", "response_schema": CITY}
    answer = talk.ask("POST", path, json=given)
    assert (answer["content"], answer["model"]) == ('{"city": "Rome"}', "gpt-4o")
    asked = talk.model.last.body["response_format"]
    assert asked["json_schema"]["schema"]["required"] == ["city"]
    for status, body in (
        (422, {"prompt": ""}),
        (404, {"prompt": "x", "override_model": "openai/nothing-of-that-name"}),
        (401, {"prompt": "x"}),
    ):
        assert talk.http.post(path, json=body).status_code == status, body


@pytest.mark.promise("tools.generate-tool")
def test_a_model_writes_a_tool_and_nothing_is_kept(talk: Talk) -> None:
    talk.model.script(wrote(ROLL))
    answer = wish(talk, starter_code="def roll_dice(): ...").json()
    assert (answer["sample_args"], answer["response"]) == ({"sides": 6}, "It rolls dice.")
    tool = answer["tool"]
    assert (tool["name"], tool["json_schema"], tool["source_code"]) == ("roll_dice", ROLL_SCHEMA, ROLL)
    assert (tool["tool_type"], tool["description"]) == ("custom", "Rolls dice.")
    asked = talk.model.last
    assert "def roll_dice(): ..." in asked.messages[-1]["content"]
    assert asked.body["tool_choice"] == {"type": "function", "function": {"name": "write_tool"}}
    assert talk.http.get(f"/v1/tools/{tool['id']}").status_code == 404
    made = talk.ask("POST", "/v1/tools/", json={"source_code": tool["source_code"]})
    assert made["json_schema"] == tool["json_schema"]


@pytest.mark.promise("tools.generate-tool")
def test_a_model_is_told_of_its_faults_and_refused_if_it_cannot_mend_them(talk: Talk) -> None:
    bare = "def roll_dice(sides):\n    return 1\n"
    talk.model.script(wrote(bare), wrote(ROLL, '{"colour": 1}'), wrote(ROLL))
    assert wish(talk).json()["tool"]["name"] == "roll_dice"
    told = [each["content"] for each in talk.model.last.messages if each["role"] == "user"]
    assert "docstring" in told[1]
    assert "colour" in told[2]
    other = ROLL.replace("roll_dice", "throw_dice")
    talk.model.script(wrote(other), calls_raw("write_tool", "{broken"), wrote("def ("))
    refused = wish(talk)
    assert refused.status_code == 400
    assert "could be a tool" in refused.json()["detail"]
    assert wish(talk, handle=None).status_code == 400  # this server has no default model
    assert wish(talk, tool_name="").status_code == 422
    assert talk.get("/v1/tools/", name="roll_dice") == []

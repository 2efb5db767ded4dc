"""Tools that people wrote, called several at once; and what they are trusted with, which is told to nobody else."""

import logging
from typing import Any

import pytest
from tests.support.answers import cancel
from tests.support.script import calls, says
from tests.support.talks import Talk
from tests.support.waiting import until_sync
from tests.support.wire import read_frames

from remanence.kit.json import JsonObject

MEETING = '''
def {name}(patience_s: int = 20):
    """
    Meets the other one.

    Args:
        patience_s: How long to wait.
    """
    import json, os, time, urllib.request
    url = f"{{os.environ['LETTA_BASE_URL']}}/v1/agents/{{os.environ['LETTA_AGENT_ID']}}"
    headers = {{"authorization": f"Bearer {{os.environ['LETTA_API_KEY']}}", "content-type": "application/json"}}

    def ask(method, body=None):
        data = json.dumps(body).encode() if body else None
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as answer:
            return json.load(answer)

    {body}
'''
WAITS = """until = time.monotonic() + patience_s
    while ask("GET")["description"] != "Here I am":
        assert time.monotonic() < until, "nobody came"
        time.sleep(0.02)
    return "met\""""
COMES = """ask("PATCH", {"description": "Here I am"})
    return "came\""""


STAYS = """ask("PATCH", {"description": "Here I am"})
    time.sleep(1000)"""


def make_agent(talk: Talk, **bodies: str) -> JsonObject:
    """Its tools may call back, and may be called at once."""
    ids: list[str] = []
    for name, body in bodies.items():
        source = MEETING.format(name=name, body=body)
        made = talk.ask("POST", "/v1/tools/", json={"source_code": source, "enable_parallel_execution": True})
        ids.append(made["id"])
    return talk.agent(
        tool_ids=ids, include_base_tools=False, parallel_tool_calls=True, secrets={"LETTA_API_KEY": ""}
    )


@pytest.mark.promise("tools.run.together")
def test_calls_of_ones_own_tools_run_at_once_and_return_in_order(talk: Talk) -> None:
    agent = make_agent(talk, wait_for_it=WAITS, come=COMES)
    both = calls("wait_for_it") + calls("come")
    answer = talk.say(agent, "Meet.", both, says("They met."))
    (returned,) = [each for each in answer["messages"] if each["message_type"] == "tool_return_message"]
    assert [each["tool_return"] for each in returned["tool_returns"]] == ["met", "came"]


@pytest.mark.promise("tools.run.cancelled")
def test_a_call_that_is_cut_by_a_cancel_is_an_error_return_and_the_agent_goes_on(talk: Talk) -> None:
    agent = make_agent(talk, stay=STAYS)
    talk.model.script(calls("stay"))
    with talk.open_stream(agent, "Stay.") as response:
        until_sync(lambda: talk.get(f"/v1/agents/{agent['id']}")["description"] == "Here I am")
        cancel(talk, agent)
        frames = read_frames(response.read())
    assert frames[-3]["stop_reason"] == "cancelled"
    talk.say(agent, "Are you there?", says("Here I am."))
    assert talk.model.last.last_tool_return.status == "error"


BLURTS = '''
def blurt():
    """Says what it should not."""
    import os, sys
    print(os.environ["OWN"])
    sys.stderr.write(os.environ["SHARED"])
    raise ValueError(os.environ["OWN"] + os.environ["SHARED"])
'''


@pytest.mark.promise("tools.run.secrets")
def test_secrets_are_in_no_log_and_no_list_that_did_not_ask(
    talk: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    own, shared = "own-hunter2-own", "shared-hunter2-shared"
    tool = talk.ask("POST", "/v1/tools/", json={"source_code": BLURTS})
    config = talk.ask("POST", "/v1/sandbox-config/local/default")
    path = f"/v1/sandbox-config/{config['id']}/environment-variable"
    talk.ask("POST", path, json={"key": "SHARED", "value": shared})
    agent = talk.agent(tool_ids=[tool["id"]], include_base_tools=False, secrets={"OWN": own})
    talk.say(agent, "Blurt!", calls("blurt"), says("I should not have."))
    lists: list[Any] = [
        talk.get("/v1/tools/"),
        talk.get("/v1/sandbox-config/"),
        talk.get("/v1/runs/"),
        [each.model_dump() for each in talk.sdk.agents.list()],
    ]
    assert "/messages" in caplog.text, "the server's log is what we look at"
    for secret in (own, shared):
        assert secret not in caplog.text
        assert secret not in str(lists)

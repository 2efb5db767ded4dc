"""The same life cycle through the published npm client, run by node."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.support.answers import INSERT, READ
from tests.support.contract import TINY_MCP, breaches, find_operation, read_contract, sdk_method_of
from tests.support.script import calls, says
from tests.support.talks import Talk

from remanence.kit import json
from remanence.kit.json import JsonObject


def play(folder: Path, script: str, talk: Talk, *given: str) -> Any:
    """What a script of ours saw through the client."""
    done = subprocess.run(
        ["node", script, talk.tenant.house.server.base_url, talk.tenant.actor.user_id, *given],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.decode(done.stdout)


@pytest.mark.promise("clients.npm")
def test_the_life_of_an_agent_through_the_npm_client(talk: Talk, npm_folder: Path) -> None:
    talk.model.script(
        says("Hello Eve!"),
        calls("memory_insert", label="human", new_string="Eve likes figs."),
        says("It is noted."),
        says("Eve likes figs, which is noted."),
    )
    assert play(npm_folder, "smoke.mjs", talk) == snapshot(
        {
            "health": "ok",
            "created": {"name": "Smoke", "labels": ["human"], "tags": ["npm"]},
            "listed": [True],
            "bare": [],
            "retrieved": ["npm"],
            "updated": "A smoke test",
            "blocks": ["city", "human"],
            "edited": "Porto",
            "block": "Porto",
            "tools": ["conversation_search", "memory_insert", "memory_replace"],
            "answer": ["Hello Eve!"],
            "stop_reason": "end_turn",
            "streamed": [
                "ping",
                "tool_call_message",
                "tool_return_message",
                "assistant_message",
                "stop_reason",
                "usage_statistics",
            ],
            "words": "It is noted.",
            "human": """\
Name: Eve
Eve likes figs.\
""",
            "history": [
                "system_message",
                "user_message",
                "assistant_message",
                "user_message",
                "tool_call_message",
                "tool_return_message",
                "assistant_message",
            ],
            "run": "completed",
            "steps": 2,
            "compacted": ["Eve likes figs, which is noted.", True],
            "found": True,
            "gone": ["NotFoundError", 404],
        }
    )


@pytest.mark.promise("clients.npm-runs")
def test_runs_of_every_sort_through_the_npm_client(talk: Talk, npm_folder: Path) -> None:
    talk.model.script(
        says("one two three four").slow(token_s=0.02),
        *(INSERT, says("Noted.")),
        says("very " * 500 + "slow").slow(token_s=0.02),
        *(INSERT, says("Thank you."), INSERT, says("As you wish.")),
        *(READ, says("It is warm."), READ, says("Still warm.")),
        *(says("Hello."), says("On it goes."), says("Again.")),
    )
    assert play(npm_folder, "runs.mjs", talk) == snapshot(
        {
            "resumed": "one two three four",
            "numbers": [1, 2, 3, 4, 5],
            "ending": ["stop_reason", "usage_statistics"],
            "async": ["created", True, "end_turn"],
            "messages": ["user", "tool_call", "tool_return", "assistant"],
            "usage": True,
            "steps": ["success", "success"],
            "step": [True, "gpt-4o-mini"],
            "listed": 3,
            "step_messages": ["assistant"],
            "metrics": True,
            "feedback": "positive",
            "runs": 2,
            "cancel": ["cancelled"],
            "cancelled": "cancelled",
            "cancelled_stream": "cancelled",
            "nothing": ["ConflictError", 409],
            "approved": ["requires_approval", True, ["ConflictError", 409], "success", "Thank you."],
            "denied": ["requires_approval", True, ["ConflictError", 409], "error", "As you wish."],
            "human": """\
Name: Eve
Likes figs.\
""",
            "client_tool": ["requires_approval", "read_sensor", "It is warm."],
            "tool_return": ["requires_approval", "read_sensor", "Still warm."],
            "talk": ["Hello.", True],
            "talk_history": ["system", "user", "assistant"],
            "branch": ["system", "user"],
            "branch_talk": "On it goes.",
            "talks": 2,
            "renamed": "Dates",
            "replayed": "Again.",
            "idle": ["ConflictError", 409],
            "gone": ["NotFoundError", 404],
        }
    )


@pytest.mark.promise("clients.npm-folders")
def test_folders_and_files_through_the_npm_client(talk: Talk, npm_folder: Path) -> None:
    assert play(npm_folder, "folders.mjs", talk) == snapshot(
        {
            "created": ["garden", "papers", "local/wordllama-256"],
            "taken": ["ConflictError", 409],
            "updated": "Read with care.",
            "listed": [True],
            "uploaded": ["garden/gate.txt", "parsing", 46],
            "read": ["completed", True, 1],
            "numbered": "garden/gate_(1).txt",
            "skipped": "gate.txt",
            "refused": ["APIError", 415],
            "files": ["gate.txt", "gate_(1).txt"],
            "attached": None,
            "holders": [True],
            "folders": ["garden"],
            "open": True,
            "closed": True,
            "evicted": [],
            "opened": ["garden/gate.txt"],
            "detached": 0,
            "gone": ["NotFoundError", 404],
            "deleted": ["NotFoundError", 404],
        }
    )


@pytest.mark.promise("clients.npm-contract")
def test_every_method_of_the_npm_client_is_answered_as_the_contract_has_it(
    talk: Talk, npm_folder: Path
) -> None:
    talk.model.responder = lambda seen: (
        says("Never.").slow(first_s=5) if seen.last_user.endswith("Wait") else says("Well.")
    )
    try:
        seen: list[JsonObject] = play(npm_folder, "contract.mjs", talk, json.encode_text(TINY_MCP))
    finally:
        talk.model.responder = None
    called: set[str] = set()
    problems: list[str] = []
    for each in seen:
        operation = find_operation(each["method"], each["path"])
        assert operation is not None, each
        if each["name"] == _camel_case(sdk_method_of(operation)):
            called.add(operation)
        if each["status"] >= 300:
            problems.append(f"{operation}: {each['status']} {each['body'][:300]}")
        elif each["body"]:
            problems += breaches(operation, each["body"].encode())
    expected = {str(each) for each in read_contract() if each.sdk_method and each.area != "environments"}
    assert problems == []
    assert sorted(expected - called) == []


def _camel_case(name: str | None) -> str | None:
    return name and re.sub(r"_(\w)", lambda found: found[1].upper(), name)

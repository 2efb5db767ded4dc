"""Reading what was said: lists of messages, their windows and cursors, and the view into the context."""

import httpx
import pytest
from inline_snapshot import snapshot
from tests.support.requests import config
from tests.support.script import calls, says
from tests.support.talks import Talk, kinds, messages_path
from tests.support.wire import Scrubber, told

from remanence.core.llm import ToolSpec
from remanence.core.tokenizer import count_tools, tokenizer_of
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.kit.tokens import count_tokens

FIGS = calls("memory_insert", label="human", new_string="Eve likes figs.")
NOBODY = "message-11111111-1111-4111-8111-111111111111"


@pytest.fixture
def agent(talk: Talk) -> JsonObject:
    """Five stored messages: system, user 1, assistant 1, user 2, assistant 2."""
    made = talk.agent()
    for number in (1, 2):
        talk.say(made, f"u{number}", says(f"a{number}"))
    return made


def texts(messages: list[JsonObject]) -> list[str]:
    return ["system" if m["message_type"] == "system_message" else m["content"] for m in messages]


def ids(talk: Talk, agent: JsonObject) -> dict[str, str]:
    found = talk.history(agent)
    return {text: message["id"] for text, message in zip(texts(found), found, strict=True)}


@pytest.mark.promise("messages.list.window")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["system", "u1", "a1", "u2", "a2"]),
        ({"limit": 2}, ["u2", "a2"]),
        ({"limit": 2, "order": "asc"}, ["system", "u1"]),
        ({"before": "u2"}, ["system", "u1", "a1"]),
        ({"before": "u2", "limit": 2}, ["u1", "a1"]),
        ({"before": "u2", "limit": 2, "order": "asc"}, ["system", "u1"]),
        ({"after": "u1"}, ["a1", "u2", "a2"]),
        ({"after": "u1", "limit": 2}, ["u2", "a2"]),
        ({"after": "u1", "limit": 2, "order": "asc"}, ["a1", "u2"]),
        ({"after": "system", "before": "a2"}, ["u1", "a1", "u2"]),
        ({"after": "system", "before": "a2", "limit": 1}, ["u2"]),
        ({"after": "system", "before": "a2", "limit": 1, "order": "asc"}, ["u1"]),
        ({"after": "a2"}, []),
        ({"before": "system", "order": "asc"}, []),
    ],
)
def test_the_order_says_from_which_end_the_limit_takes(
    talk: Talk, agent: JsonObject, query: dict[str, str], expected: list[str]
) -> None:
    known = ids(talk, agent)
    cursors = {name: known[query[name]] for name in ("before", "after") if name in query}
    assert texts(talk.history(agent, **(query | cursors))) == expected


@pytest.mark.promise("messages.list.cursors")
def test_a_cursor_that_does_not_exist_is_not_found(talk: Talk, agent: JsonObject) -> None:
    for name in ("before", "after"):
        for path in (messages_path(agent), "/v1/messages/"):
            response: httpx.Response = talk.http.get(path, params={name: NOBODY})
            assert response.status_code == 404


@pytest.mark.promise("messages.list.window")
@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": -1}, {"order": "up"}, {"order_by": "name"}])
def test_a_window_that_makes_no_sense_is_refused(talk: Talk, agent: JsonObject, query: JsonObject) -> None:
    assert talk.http.get(messages_path(agent), params=query).status_code == 422


@pytest.mark.promise("messages.edit")
def test_messages_are_never_edited(talk: Talk, agent: JsonObject) -> None:
    message_id = ids(talk, agent)["u1"]
    body = {"message_type": "user_message", "content": "x"}
    response = talk.http.patch(f"{messages_path(agent)}/{message_id}", json=body)
    assert response.status_code == 405
    assert "detail" in response.json()


@pytest.mark.promise("messages.list.types")
def test_with_a_filter_on_types_the_limit_counts_what_is_returned(talk: Talk) -> None:
    agent = talk.agent()
    for number in range(4):
        talk.say(agent, f"u{number}", FIGS, says(f"a{number}"))
    types = ["user_message", "assistant_message"]
    newest = talk.history(agent, include_return_message_types=types, limit=3)
    assert texts(newest) == ["a2", "u3", "a3"]
    older = talk.history(agent, include_return_message_types=types, limit=3, before=newest[0]["id"])
    assert texts(older) == ["u1", "a1", "u2"]
    oldest = talk.history(agent, include_return_message_types=types, limit=3, order="asc")
    assert texts(oldest) == ["u0", "a0", "u1"]
    following = talk.history(
        agent, include_return_message_types=types, limit=3, order="asc", after=oldest[-1]["id"]
    )
    assert texts(following) == ["a1", "u2", "a2"]
    assert (
        kinds(talk.history(agent, include_return_message_types=["tool_return_message"]))
        == ["tool_return"] * 4
    )


@pytest.mark.promise("messages.list.types")
def test_a_message_is_not_divided_between_pages(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent", initial_message_sequence=[])
    for number in range(3):
        talk.say(agent, "Hi", calls("send_message", thinking=f"t{number}", message=f"m{number}"))
    types = ["reasoning_message", "assistant_message"]
    seen: list[str] = []
    page = talk.history(agent, include_return_message_types=types, limit=3)
    while page:
        seen = [m.get("reasoning") or m["content"] for m in page] + seen
        page = talk.history(agent, include_return_message_types=types, limit=3, before=page[0]["id"])
    assert seen == ["t0", "m0", "t1", "m1", "t2", "m2"]


@pytest.mark.promise("messages.list.types")
def test_filters_reach_back_as_far_as_they_must(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Figs!", FIGS, says("Noted."))
    for _ in range(6):
        talk.say(agent, "Hi", says("Hello."))
    assert kinds(talk.history(agent, include_return_message_types=["tool_call_message"], limit=1)) == [
        "tool_call"
    ]


@pytest.mark.promise("messages.retrieve")
def test_one_message_is_read_as_the_list_of_its_typed_messages(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "Figs!", says("Well.") + FIGS, says("Noted."))
    said = answer["messages"][:2]
    assert talk.get(f"/v1/messages/{said[0]['id']}") == said
    assert talk.http.get(f"/v1/messages/{NOBODY}").status_code == 404
    assert talk.http.get("/v1/messages/message-1").status_code == 422


@pytest.mark.promise("messages.list.all")
def test_messages_of_all_agents_are_one_list(talk: Talk, agent: JsonObject) -> None:
    other = talk.agent("memgpt_agent", initial_message_sequence=[])
    talk.say(other, "u3", calls("send_message", message="a3"))
    assert texts(talk.get("/v1/messages/", limit=4, order="asc")) == ["system", "u1", "a1", "u2"]
    assert texts(talk.get("/v1/messages/")) == ["system", "u1", "a1", "u2", "a2", "system", "u3", "a3"]
    assert texts(talk.get("/v1/messages/", include_return_message_types=["assistant_message"], limit=2)) == [
        "a2",
        "a3",
    ]


@pytest.mark.promise("messages.list.all")
def test_lists_end_at_the_organisation(talk: Talk, agent: JsonObject) -> None:
    stranger = talk.tenant.house.new_tenant()
    message_id = ids(talk, agent)["u1"]
    assert stranger.http.get("/v1/messages/").json() == []
    assert stranger.http.get(f"/v1/messages/{message_id}").status_code == 404
    assert stranger.http.get("/v1/messages/", params={"after": message_id}).status_code == 404
    stranger.close()


@pytest.mark.promise("messages.sdk")
def test_the_sdk_pages_through_a_history(talk: Talk, agent: JsonObject) -> None:
    found = list(talk.sdk.agents.messages.list(agent["id"], limit=2, order="asc"))
    assert [m.message_type for m in found] == [
        "system_message",
        "user_message",
        "assistant_message",
        "user_message",
        "assistant_message",
    ]
    first = found[0].id
    assert [m.id for m in talk.sdk.messages.retrieve(first)] == [first]
    assert [m.id for m in talk.sdk.messages.list(order="asc", limit=2)] == [m.id for m in found[:2]]


@pytest.mark.promise("agents.reset")
def test_a_reset_empties_the_window_and_keeps_the_history(talk: Talk, agent: JsonObject) -> None:
    system = talk.history(agent)[0]
    state = talk.ask("PATCH", f"/v1/agents/{agent['id']}/reset-messages", json={})
    assert state["message_ids"] == [system["id"]]
    assert texts(talk.history(agent)) == ["system", "u1", "a1", "u2", "a2"]
    talk.say(agent, "u3", says("a3"))
    assert [message["content"] for message in talk.model.last.messages[1:]] == ["u3"]


@pytest.mark.promise("agents.reset")
def test_a_reset_may_bring_the_first_messages_back(talk: Talk) -> None:
    agent = talk.agent("memgpt_agent")
    talk.say(agent, "Hi", calls("send_message", message="Hello."))
    talk.ask("PATCH", f"/v1/agents/{agent['id']}/reset-messages", json={"add_default_initial_messages": True})
    talk.say(agent, "Hi", calls("send_message", message="Hello."))
    assert talk.model.last.roles == ["system", "assistant", "tool", "user", "user"]


@pytest.mark.promise("messages.preview")
def test_a_preview_is_what_the_model_then_receives(talk: Talk) -> None:
    for kind, reply in (
        ("letta_v1_agent", says("Hi")),
        ("memgpt_agent", calls("send_message", message="Hi")),
    ):
        agent = talk.agent(kind)
        talk.say(agent, "Hello", reply)
        preview = talk.ask("POST", f"{messages_path(agent)}/preview-raw-payload", json={"input": "And now?"})
        assert len(talk.history(agent, include_err=True)) == len(talk.history(agent))
        talk.say(agent, "And now?", reply)
        assert preview == talk.model.last.body


@pytest.mark.promise("messages.preview")
def test_a_preview_of_an_agent_that_forgets_shows_what_it_will_see(talk: Talk) -> None:
    agent = talk.agent("workflow_agent", tools=["send_message"])
    reply = calls("send_message", message="Hi")
    talk.say(agent, "Hello", reply)
    preview = talk.ask("POST", f"{messages_path(agent)}/preview-raw-payload", json={"input": "And now?"})
    talk.say(agent, "And now?", reply)
    assert preview == talk.model.last.body


@pytest.mark.promise("agents.context")
def test_the_overview_counts_what_is_in_the_window(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Figs!", FIGS, says("Noted."))
    view = talk.get(f"/v1/agents/{agent['id']}/context")
    assert list(view) == snapshot(
        [
            "context_window_size_max",
            "context_window_size_current",
            "num_messages",
            "num_archival_memory",
            "num_recall_memory",
            "num_tokens_external_memory_summary",
            "external_memory_summary",
            "num_tokens_system",
            "system_prompt",
            "num_tokens_core_memory",
            "core_memory",
            "num_tokens_memory_filesystem",
            "memory_filesystem",
            "num_tokens_tool_usage_rules",
            "tool_usage_rules",
            "num_tokens_directories",
            "directories",
            "num_tokens_summary_memory",
            "summary_memory",
            "num_tokens_functions_definitions",
            "functions_definitions",
            "num_tokens_messages",
            "messages",
        ]
    )
    numbers = {key: value for key, value in view.items() if key.startswith("num_tokens_")}
    assert view["context_window_size_current"] == sum(numbers.values())
    assert view["num_messages"] == 5
    assert view["num_recall_memory"] == 5
    assert [message["role"] for message in view["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [each["function"]["name"] for each in view["functions_definitions"]] == talk.model.last.tool_names
    assert all(numbers[f"num_tokens_{part}"] > 0 for part in ("system", "core_memory", "messages"))


@pytest.mark.promise("agents.context")
def test_the_overview_counts_every_token_of_the_request_that_is_sent(talk: Talk) -> None:
    agent = talk.agent(tool_rules=[{"type": "continue_loop", "tool_name": "memory_insert"}])
    talk.say(agent, "Figs!", says("A moment.") + FIGS, says("Noted."))
    talk.say(agent, "And now?", says("Well."))
    human = next(block["id"] for block in agent["blocks"] if block["label"] == "human")
    talk.ask("PATCH", f"/v1/blocks/{human}", json={"value": "Name: Ada"})
    view = talk.get(f"/v1/agents/{agent['id']}/context")
    talk.say(agent, "Who am I?", says("Ada."))
    *sent, note, _ = talk.model.last.messages
    tokens = sum(map(tokens_of, sent)) + 4 + count_tokens(json.decode(note["content"])["message"])
    tokens += count_tools(
        [ToolSpec(**tool["function"]) for tool in talk.model.last.tools], tokenizer_of(config("gpt-4o-mini"))
    )
    assert view["context_window_size_current"] == tokens


def tokens_of(message: JsonObject) -> int:
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    words = [message.get("content") or "", *(call[key] for call in calls for key in ("name", "arguments"))]
    return 4 + sum(map(count_tokens, words))


@pytest.mark.promise("agents.context")
def test_the_stored_form_of_messages_in_the_overview(talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Figs!", FIGS, says("Noted."))
    stored = talk.get(f"/v1/agents/{agent['id']}/context")["messages"]
    assert list(stored[2]) == snapshot(
        [
            "created_by_id",
            "last_updated_by_id",
            "created_at",
            "updated_at",
            "id",
            "agent_id",
            "model",
            "role",
            "content",
            "name",
            "tool_calls",
            "tool_call_id",
            "step_id",
            "run_id",
            "otid",
            "tool_returns",
            "group_id",
            "sender_id",
            "batch_item_id",
            "conversation_id",
            "is_err",
            "approval_request_id",
            "approve",
            "denial_reason",
            "approvals",
        ]
    )
    assert stored[2]["tool_calls"] == snapshot(
        [
            {
                "id": "call_1_0",
                "type": "function",
                "function": {
                    "name": "memory_insert",
                    "arguments": '{"label": "human", "new_string": "Eve likes figs."}',
                },
            }
        ]
    )
    assert [each["tool_call_id"] for each in stored[3]["tool_returns"]] == ["call_1_0"]


@pytest.mark.promise("send.ids")
def test_what_was_said_reads_the_same_everywhere(talk: Talk) -> None:
    agent = talk.agent()
    answer = talk.say(agent, "Figs!", FIGS, says("Noted."))
    names = Scrubber()
    shown = told(answer["messages"], names)
    run_id = answer["messages"][0]["run_id"]
    assert told(talk.history(agent)[2:], names) == shown
    assert told(talk.get("/v1/messages/")[2:], names) == shown
    assert told(talk.get(f"/v1/runs/{run_id}/messages")[1:], names) == shown

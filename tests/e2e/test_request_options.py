"""What a single request may ask for beyond an answer: the weights of its tokens, and skills of the client."""

import pytest
from tests.support.script import says, sends
from tests.support.talks import Talk

from remanence.kit import json

YES = {"token": "Yes", "bytes": [89, 101, 115], "logprob": -0.1, "top_logprobs": []}


def weighed_answer() -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}
    choice |= {"logprobs": {"content": [YES], "refusal": None}, "token_ids": [7]}
    return json.encode({"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]})


@pytest.mark.promise("send.logprobs")
def test_the_weights_of_the_tokens_come_with_the_answer_where_they_are_asked_for(talk: Talk) -> None:
    agent = talk.agent()
    line = sends(weighed_answer(), content_type="application/json")
    answer = talk.say(agent, "Sure?", line, return_logprobs=True, top_logprobs=2, return_token_ids=True)
    asked = talk.model.journal[-1].body
    assert (asked["logprobs"], asked["top_logprobs"]) == (True, 2)
    assert answer["logprobs"] == {"content": [YES], "refusal": None}
    assert answer["turns"] == [
        {
            "role": "assistant",
            "output_ids": [7],
            "output_token_logprobs": [[-0.1, 7, "Yes"]],
            "content": "Yes",
            "tool_name": None,
        }
    ]
    read = talk.sdk.agents.messages.create
    talk.model.script(sends(weighed_answer(), content_type="application/json"))
    assert read(agent["id"], input="Sure?", return_logprobs=True).logprobs is not None
    assert talk.say(agent, "And now?", says("No."))["logprobs"] is None
    assert "logprobs" not in talk.model.journal[-1].body


@pytest.mark.promise("send.client-skills")
def test_the_clients_skills_are_told_to_the_model_for_this_request_alone(talk: Talk) -> None:
    agent = talk.agent()
    skill = {"name": "knitting", "description": "Knit a sock.", "location": "skills/knitting.md"}
    talk.say(agent, "Hi", says("Hello."), client_skills=[skill])
    assert "- knitting (skills/knitting.md): Knit a sock." in talk.model.journal[-1].messages[0]["content"]
    talk.say(agent, "Hi", says("Hello."))
    assert "knitting" not in str(talk.model.journal[-1].messages)
    talk.refuse(agent, 422, input="Hi", client_skills=[{"name": "nameless"}])


@pytest.mark.promise("cancel.others-runs")
def test_a_run_of_another_agent_is_not_cancelled_by_its_id(talk: Talk) -> None:
    one, other = talk.agent(), talk.agent()
    run = talk.run_of(talk.say(one, "Hi", says("Hello.")))
    outcome = talk.ask("POST", f"/v1/agents/{other['id']}/messages/cancel", json={"run_ids": [run["id"]]})
    assert outcome == {run["id"]: "failed"}

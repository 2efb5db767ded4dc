"""The scripted model fails tests that it should fail, and serves those that block."""

import httpx
import pytest
from tests.support.scripted_model import ScriptedModel, calls, says, thinks

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


async def ask(model: ScriptedModel) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.post(f"{model.base_url}/chat/completions", json=ASKED)


async def test_a_line_that_was_never_played_fails_the_test() -> None:
    model = ScriptedModel()
    model.script(says("Unheard"))
    with pytest.raises(AssertionError, match="Unheard"):
        model.verify()


async def test_a_call_without_a_line_fails_the_test() -> None:
    model = ScriptedModel()
    await model.start()
    assert (await ask(model)).status_code == 418
    await model.stop()
    with pytest.raises(AssertionError, match="Hello"):
        model.verify()


async def test_lines_add_up_to_one_reply() -> None:
    async with ScriptedModel() as model:
        model.script(thinks("Hm") + says("Yes") + calls("a", x=1) + calls("b"))
        message = (await ask(model)).json()["choices"][0]["message"]
        assert message["reasoning_content"] == "Hm"
        assert message["content"] == "Yes"
        assert [call["function"]["name"] for call in message["tool_calls"]] == ["a", "b"]


def test_a_model_on_its_own_thread_answers_a_caller_that_blocks() -> None:
    model = ScriptedModel.start_in_thread()
    model.script(says("Hi"))
    answer = httpx.post(f"{model.base_url}/chat/completions", json=ASKED).json()
    assert answer["choices"][0]["message"]["content"] == "Hi"
    model.arrived_sync(1)
    model.journal[0].answered.wait_sync()
    model.stop_thread()
    model.verify()

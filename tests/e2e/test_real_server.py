"""A real server of llama.cpp behind ours: reached by its address, as people reach the one on their own machine.

`make test-live` plays the same with a model that is good for something, and has it examined.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.llama_server import ALIAS, llama_server
from tests.support.tenants import SharedHouse, Tenant

from remanence.llm.local.source import is_engine_installed
from remanence.llm.local.weights import find_small_weights

LARGE = os.environ.get("REMANENCE_TEST_GGUF")
"""The file of a model to be played with instead."""
SMALL = find_small_weights()

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.timeout(900 if LARGE else 60),
    pytest.mark.skipif(SMALL is None or not is_engine_installed(), reason="needs the extra `local`"),
]

LOOK_UP = '''
def look_up_code(word: str) -> str:
    """Looks up the code of a word.

    Args:
        word (str): the word
    """
    return "7391"
'''


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with llama_server(Path(LARGE or str(SMALL))) as address:
        yield address


@pytest.fixture
def tenant(sqlite_house: SharedHouse) -> Iterator[Tenant]:
    newcomer = sqlite_house.new_tenant()
    newcomer.http.timeout = 600
    newcomer.sdk = newcomer.sdk.with_options(timeout=600)
    yield newcomer
    newcomer.close()


@pytest.fixture
def handle(tenant: Tenant, address: str) -> str:
    tenant.sdk.post(
        "/v1/providers/",
        cast_to=object,
        body={
            "name": "mine",
            "provider_type": "llamacpp",
            "base_url": address.removeprefix("http://"),
            "api_key": "-",
        },
    )
    return f"mine/{ALIAS}"


@pytest.mark.promise("models.real_server")
def test_a_real_server_calls_a_tool_and_streams_an_answer(tenant: Tenant, handle: str) -> None:
    listed = {model.handle: model for model in tenant.sdk.models.list()}
    assert listed[handle].max_context_window == 4096

    tool = tenant.sdk.tools.upsert(source_code=LOOK_UP)
    settings = {"provider_type": "openai", "max_output_tokens": 400 if LARGE else 24, "temperature": 0}
    must, ends = "run_first", "exit_loop"
    agent = tenant.agent(
        model=handle,
        model_settings=settings,
        system="You are brief.",
        include_base_tools=False,
        tool_ids=[tool.id],
        tool_rules=[{"type": kind, "tool_name": "look_up_code"} for kind in (must, ends)],
    )
    answer = tenant.sdk.agents.messages.create(agent["id"], input="What is the code of the word tea?")
    kinds = [each.message_type for each in answer.messages]
    assert "tool_call_message" in kinds, answer
    assert "7391" in str(answer.messages[kinds.index("tool_return_message")])
    assert answer.usage.prompt_tokens or LARGE  # an answer that is cut short because it runs on tells none

    talker = tenant.agent(
        model=handle, model_settings=settings, system="You are brief.", include_base_tools=False
    )
    events = list(
        tenant.sdk.agents.messages.create(
            talker["id"], input="Say hello.", streaming=True, stream_tokens=True
        )
    )
    kinds = [each.message_type for each in events]
    assert kinds.count("assistant_message") > 1
    assert kinds[-2:] == ["stop_reason", "usage_statistics"]


@pytest.mark.skipif(LARGE is None, reason="takes a minute: `make test-live`")
@pytest.mark.promise("models.real_server")
def test_a_real_model_is_examined(tenant: Tenant, handle: str) -> None:
    found = tenant.http.post(f"/v1/models/{handle}/probe").json()
    verdicts = {each["task"]: each["passed"] for each in found["tasks"]}
    assert verdicts["answers in words"], found
    assert verdicts["calls a tool"] is not False, found  # None on a machine that is too slow
    assert found["tokens_per_s"] > 0

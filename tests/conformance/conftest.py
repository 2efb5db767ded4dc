"""The keepers of each promise."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from tests.support.scripted_model import ScriptedModel

from remanence.llm.chat_completions import ChatCompletions
from remanence.llm.ports import ModelAdapter
from remanence.llm.transport import CallPolicy, Transport
from remanence.llm.vendors import get_vendor

PATIENT = CallPolicy(pause_s=0.001, longest_pause_s=5)


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as model:
        yield model


@pytest.fixture
async def transports() -> AsyncIterator[Callable[..., Transport]]:
    """Makes transports with other time limits than usual, and closes them."""
    made: list[Transport] = []

    def make(**limits: float) -> Transport:
        made.append(Transport(replace(PATIENT, **limits)))
        return made[-1]

    yield make
    for transport in made:
        await transport.close()


@pytest.fixture
def make_adapter(model: ScriptedModel, transports: Callable[..., Transport]) -> Callable[..., ModelAdapter]:
    def make(**limits: float) -> ModelAdapter:
        return ChatCompletions(
            transports(**limits), get_vendor("openai"), base_url=model.base_url, api_key="sk-secret"
        )

    return make


@pytest.fixture
def adapter(make_adapter: Callable[..., ModelAdapter]) -> ModelAdapter:
    return make_adapter()

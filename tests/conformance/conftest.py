"""The keepers of each promise."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from tests.support.keepers import KEEPERS, Keeper
from tests.support.scripted_model import ScriptedModel

from remanence.llm.adapters import Adapters
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


@pytest.fixture(params=KEEPERS, ids=lambda keeper: keeper.format)
def keeper(request: pytest.FixtureRequest) -> Keeper:
    """Runs the test once for each wire format."""
    return request.param


@pytest.fixture
def make_adapter(
    keeper: Keeper, model: ScriptedModel, transports: Callable[..., Transport]
) -> Callable[..., ModelAdapter]:
    def make(**limits: float) -> ModelAdapter:
        base_url = model.base_url.replace("/v1", keeper.root)
        return Adapters(transports(**limits)).get(
            keeper.format, get_vendor(keeper.vendor), base_url, "sk-secret", "openai"
        )

    return make


@pytest.fixture
def adapter(make_adapter: Callable[..., ModelAdapter]) -> ModelAdapter:
    return make_adapter()

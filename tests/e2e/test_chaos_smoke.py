"""A short campaign of `make chaos` on both databases, and that the fail points it names are there."""

import importlib
from pathlib import Path

import pytest
from bench.chaos.campaign import Campaign
from bench.chaos.points import LIVING, STARTING
from tests.support.databases import Databases

CYCLES = 5
"""On each database, of different seasons."""


@pytest.mark.timeout(300)
@pytest.mark.promise("lasting.kills")
async def test_a_short_campaign_breaks_no_promise(databases: Databases, tmp_path: Path) -> None:
    campaign = Campaign(databases.fresh(), tmp_path, seed=1)
    await campaign.run(range(CYCLES), CYCLES)
    assert campaign.broken == []
    assert campaign.cycles == CYCLES


@pytest.mark.parametrize("point", sorted({*LIVING, *STARTING} - {"*"}))
def test_a_fail_point_is_named_after_a_function(point: str) -> None:
    """Those inside of a router cannot be looked up, only their router."""
    parts = point.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(f"remanence.{'.'.join(parts[:length])}")
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            found = getattr(found, name)
            if name == "router":
                break
        assert callable(found)
        return
    raise AssertionError(f"{point} is in no module")

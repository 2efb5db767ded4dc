"""The bench runs from end to end and fills every row; what it measures is not judged here."""

import asyncio
import sys
from pathlib import Path

import pytest
from bench.figures import ROWS
from tests.conftest import BOTH

from remanence.kit import json

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("database", BOTH)
async def test_the_bench_fills_every_row(database: str, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    bench = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench", "--quick", "--database", database, "--json", str(figures)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await bench.communicate()
    assert bench.returncode == 0, output.decode()
    found = json.decode(figures.read_bytes())["figures"][database]
    # What has to be installed first is measured only where there is a registry to install it from, and the
    # vendors' clients only by those who have time.
    assert list(found) == [
        row.name
        for row in ROWS
        if (row.name != "tool_cold" or "tool_cold" in found) and "vendor's client" not in row.label
    ]
    assert found["queue"]["value"] == 8
    assert found["crowd_failed"]["value"] == 0

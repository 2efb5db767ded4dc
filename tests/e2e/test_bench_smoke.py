"""The bench runs from end to end and fills every row; what it measures is not judged here."""

import asyncio
import sys
from pathlib import Path

import pytest
from bench.figures import ROWS

from remanence.kit import json
from remanence.kit.json import JsonObject

ROOT = Path(__file__).parents[2]


async def run_bench(database: str, folder: Path, *options: str) -> JsonObject:
    """The figures by row."""
    figures = folder / "figures.json"
    bench = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench", "--quick", "--database", database, "--json", str(figures), *options),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await bench.communicate()
    assert bench.returncode == 0, output.decode()
    return json.decode(figures.read_bytes())["figures"][database]


@pytest.mark.timeout(300)
@pytest.mark.postgres
async def test_what_the_databases_do_unlike_each_other_is_measured_on_the_other_too(tmp_path: Path) -> None:
    found = await run_bench("postgres", tmp_path, "--only", "message", "archives", "bytes")
    rows = {"message_1", "message_3", "cpu_1", "cpu_3", "archival_insert", "bytes"}
    assert rows <= set(found) <= {row.name for row in ROWS}


@pytest.mark.timeout(300)
async def test_the_bench_fills_every_row(tmp_path: Path) -> None:
    found = await run_bench("sqlite", tmp_path)
    # What has to be installed first is measured only where there is a registry to install it from, and the
    # vendors' clients only by those who have time.
    assert list(found) == [
        row.name
        for row in ROWS
        if (row.name != "tool_cold" or "tool_cold" in found) and "vendor's client" not in row.label
    ]
    assert found["queue"]["value"] == 8
    assert found["crowd_failed"]["value"] == 0

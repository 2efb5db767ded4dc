"""From the upload of a file until all of it is found by meaning: a text, and a PDF of many pages."""

import asyncio
import time

from tests.support.documents import pdf

from bench.client import Client
from bench.figures import Figure
from bench.measures import Bench

_SENTENCE = "Gate number {} is green, and its key hangs on the nail by the door. "
_LINE = "Line {} of page {}: bees fly at noon over the orchard and the wall."


async def measure_files(bench: Bench) -> None:
    text = "\n\n".join(_SENTENCE.format(number) * 16 for number in range(bench.scaled(950, 5)))
    pages = [
        "\n".join(_LINE.format(line, page) for line in range(60)) for page in range(bench.scaled(100, 2))
    ]
    async with bench.client() as client:
        folder = str((await client.post("/folders/", {"name": "bench"}))["id"])
        for name, data in (("text.txt", text.encode()), ("book.pdf", pdf(pages))):
            began = time.perf_counter()
            file = await client.upload(f"/folders/{folder}/upload", name, data)
            await _wait_for_file(client, f"/folders/{folder}/files/{file['id']}")
            bench.figures[f"file_{name.partition('.')[2]}"] = Figure((time.perf_counter() - began) * 1000)


async def _wait_for_file(client: Client, path: str) -> None:
    while (status := (await client.get(path))["processing_status"]) != "completed":
        assert status != "error"
        await asyncio.sleep(0.02)

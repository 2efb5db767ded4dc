"""Starts and ends the worker process, and says why if it will not start."""

import asyncio
import os
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from remanence.errors import ModelUnavailable
from remanence.kit import json
from remanence.kit.json import JsonObject

PROVIDER = "local"
_LOAD_TIMEOUT_S = 180
_LAST_LINES = 8
_DEATH_S = 1.0


@dataclass(slots=True)
class Worker:
    """A worker that has loaded its model and listens."""

    process: asyncio.subprocess.Process
    address: str
    last_words: deque[str]
    drain: asyncio.Task[None]

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None

    async def has_died(self) -> bool:
        """Its connections break a moment before its death is known."""
        try:
            await asyncio.wait_for(self.process.wait(), _DEATH_S)
        except TimeoutError:
            return False
        return True

    def obituary(self) -> str:
        words = " ".join(self.last_words)[-400:]
        return f"The engine of the embedded model stopped ({words or 'it said nothing'}). The next message starts it again."

    async def stop(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        self.drain.cancel()
        if self.process.stdin is not None:
            self.process.stdin.close()


async def start_worker(order: JsonObject) -> Worker:
    """Raises ModelUnavailable with what the engine said."""
    environment = os.environ | {"OMP_WAIT_POLICY": "passive"}  # idle threads must not spin
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "remanence.llm.local.worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    last_words: deque[str] = deque(maxlen=_LAST_LINES)
    drain = asyncio.create_task(_drain(process, last_words))
    worker = Worker(process, "", last_words, drain)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.encode(order) + b"\n")
        await process.stdin.drain()
        async with asyncio.timeout(_LOAD_TIMEOUT_S):
            line = await process.stdout.readline()
        worker.address = _read_answer(line, last_words)
    except TimeoutError:
        await worker.stop()
        raise ModelUnavailable("The embedded model took too long to load", provider=PROVIDER) from None
    except BaseException:
        await worker.stop()
        raise
    return worker


def _read_answer(line: bytes, last_words: deque[str]) -> str:
    answer: JsonObject = json.decode(line) if line else {}
    if "address" in answer:
        return str(answer["address"])
    said = str(answer.get("error") or " ".join(last_words) or "it ended without a word")
    if "libgomp" in said:
        said += " (install the system package libgomp1)"
    elif "No module named 'xllamacpp'" in said:
        said += " (install the extra: remanence[local])"
    raise ModelUnavailable(f"The embedded model could not be loaded: {said}", provider=PROVIDER)


async def _drain(process: asyncio.subprocess.Process, last_words: deque[str]) -> None:
    """The engine writes its complaints to stderr; a full pipe would stop it."""
    assert process.stderr is not None
    with suppress(ValueError):
        async for line in process.stderr:
            if words := line.decode(errors="replace").strip():
                last_words.append(words)

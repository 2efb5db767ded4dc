"""The server's side of reading a file: a process for each, with limits, whatever the file does to it."""

import asyncio
import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path

from remanence.core.chunking import Chunk
from remanence.files.formats import Format
from remanence.files.parsing.faults import Unreadable
from remanence.kit import json
from remanence.kit.json import JsonObject

_CHILD = Path(__file__).with_name("child.py")
_MOST_BYTES_PER_CHAR = 16
"""Of an answer: a character may be written as `\\u1234`, and stands there twice or a little more."""
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ParseLimits:
    timeout_s: float = 120
    memory_bytes: int = 1 << 30
    max_chars: int = 20_000_000


@dataclass(frozen=True, slots=True)
class Parsed:
    text: str
    chunks: list[Chunk]


async def parse(data: bytes, form: Format, *, size_chars: int, limits: ParseLimits) -> Parsed:
    """Raises Unreadable, for every reason that lies in the file."""
    order: JsonObject = {
        "reader": form.reader,
        "style": form.style,
        "size_chars": size_chars,
        "max_chars": limits.max_chars,
        "memory_bytes": limits.memory_bytes,
        "cpu_s": max(1, round(limits.timeout_s)),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-X", "utf8", str(_CHILD), json.encode_text(order)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(limits.timeout_s):
            feeding = asyncio.create_task(_feed(process, data))
            answer = await _gather(process, limits.max_chars * _MOST_BYTES_PER_CHAR)
            await feeding
            code = await process.wait()
    except TimeoutError:
        raise Unreadable(
            f"It takes longer than {limits.timeout_s:g} seconds to read, which is the most that is allowed here."
        ) from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if answer is None or code != 0:
        raise Unreadable(
            "Reading it was stopped: it is damaged, or it takes more memory or time than is allowed here."
        )
    found: JsonObject = await asyncio.to_thread(json.decode, answer)
    if "error" in found:
        raise Unreadable(found["error"])
    return Parsed(found["text"], [Chunk(*each) for each in found["chunks"]])


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may be gone before it has read all
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()


async def _gather(process: asyncio.subprocess.Process, most: int) -> bytes | None:
    """What it says; None if that is more than it may say."""
    assert process.stdout is not None
    pieces: list[bytes] = []
    held = 0
    while piece := await process.stdout.read(_READ_BYTES):
        pieces.append(piece)
        held += len(piece)
        if held > most:
            process.kill()
            return None
    return b"".join(pieces)

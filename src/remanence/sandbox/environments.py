"""Packages that tools need, installed once for each set of them and then only read. Sets that nobody used for
long are removed when another is installed.

Nothing of a package is run while it is installed: only wheels are taken from PyPI, and npm runs no scripts.
"""

import asyncio
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from remanence.kit import json

_TIMEOUT_S = 300
_MAX_TOLD = 600
_PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "USERPROFILE", "APPDATA", "SYSTEMROOT")
_PASSED_ON_PREFIXES = ("PIP_", "UV_", "NPM_CONFIG_", "NODE_EXTRA", "SSL_", "REQUESTS_CA", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")  # fmt: skip
"""What an installer may need to reach its registry, and nothing else of the server's environment."""


Commands = Callable[[Path, list[str]], list[list[str]]]
"""Ways to install, tried in turn: a folder and what is wanted in it."""


class EnvironmentFailed(Exception):
    """The packages cannot be had; the text says which and why."""


@dataclass(frozen=True, slots=True, order=True)
class Package:
    name: str
    version: str | None = None

    @property
    def for_pip(self) -> str:
        version = (self.version or "").replace(" ", "")
        return self.name + (f"=={version}" if version[:1].isalnum() else version)

    @property
    def for_npm(self) -> str:
        return f"{self.name}@{self.version}" if self.version else self.name


class Environments:
    def __init__(self, folder: Path, *, keep_days: int) -> None:
        self._folder = folder
        self._keep_days = keep_days
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def python(self, packages: Sequence[Package], *, anew: bool = False) -> Path | None:
        """A folder to import from; None if nothing is needed. Raises EnvironmentFailed."""
        wanted = sorted({package.for_pip for package in packages})
        return await self._installed("python", wanted, _pip_commands, anew) if wanted else None

    async def node(self, packages: Sequence[Package]) -> Path | None:
        """A folder with `node_modules` in it; None if nothing is needed. Raises EnvironmentFailed."""
        wanted = sorted({package.for_npm for package in packages})
        return await self._installed("node", wanted, _npm_commands, False) if wanted else None

    async def _installed(self, kind: str, wanted: list[str], commands: Commands, anew: bool) -> Path:
        identity = json.encode([kind, wanted, sysconfig.get_platform(), sys.version_info[:2]])
        key = f"{kind}-{hashlib.sha256(identity).hexdigest()[:24]}"
        target = self._folder / key
        async with self._locks[key]:
            if anew:
                await asyncio.to_thread(shutil.rmtree, target, ignore_errors=True)
            if not await asyncio.to_thread(_note_use, target):
                await self._install(target, wanted, commands)
                await asyncio.to_thread(_remove_unused, self._folder, self._keep_days)
        return target

    async def _install(self, target: Path, wanted: list[str], commands: Commands) -> None:
        await asyncio.to_thread(self._folder.mkdir, parents=True, exist_ok=True)
        fresh = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=".new-", dir=self._folder))
        try:
            told = "no installer was found: install pip, uv or npm"
            for command in commands(fresh, wanted):
                told = await _run(command, fresh)
                if not told:
                    break
            else:
                raise EnvironmentFailed(f"The packages {', '.join(wanted)} could not be installed: {told}")
            await asyncio.to_thread(_publish, fresh, target)
        finally:
            await asyncio.to_thread(shutil.rmtree, fresh, ignore_errors=True)


def _pip_commands(target: Path, wanted: list[str]) -> list[list[str]]:
    options = ["--target", str(target), "--only-binary", ":all:", "--quiet"]
    commands = [
        [python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", *options, "--", *wanted]
        for python in dict.fromkeys((sys.executable, str(getattr(sys, "_base_executable", sys.executable))))
    ]
    if (uv := shutil.which("uv")) is not None:
        commands.append([uv, "pip", "install", "--python", sys.executable, *options, "--", *wanted])
    return commands


def _npm_commands(target: Path, wanted: list[str]) -> list[list[str]]:
    npm = shutil.which("npm")
    options = ["--prefix", str(target), "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    return [[npm, "install", *options, "--", *wanted]] if npm else []


async def _run(command: list[str], folder: Path) -> str:
    """Empty if it went well; else what it said last."""
    given = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_ON or name.upper().startswith(_PASSED_ON_PREFIXES)
    }
    return await asyncio.to_thread(_run_blocking, command, folder, given)


def _run_blocking(command: list[str], folder: Path, given: dict[str, str]) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return done.stdout.decode("utf-8", "replace").strip()[-_MAX_TOLD:] or f"exit code {done.returncode}"


def _publish(fresh: Path, target: Path) -> None:
    fresh.chmod(0o755)  # tools may run as somebody else
    with contextlib.suppress(OSError):  # another process was faster; its result is as good
        fresh.rename(target)


def _note_use(target: Path) -> bool:
    """False if it is not there."""
    try:
        os.utime(target)
    except FileNotFoundError:
        return False
    return True


def _remove_unused(folder: Path, days: int) -> None:
    """Also what was left of an installation that never ended."""
    for each in folder.iterdir():
        with contextlib.suppress(OSError):  # another process may remove it too
            if each.stat().st_mtime < time.time() - days * 86400:
                shutil.rmtree(each)

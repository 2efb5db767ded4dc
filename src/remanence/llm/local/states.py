"""Evaluated states on disk: shared beginnings of prompts, and conversations that lost their slot.

Reading a state back takes milliseconds where evaluating its text takes seconds. A file is only a
hint: the engine compares the tokens in it with the prompt and evaluates what differs.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

_MAX_PREFIXES = 4
_MAX_TALKS = 12


class StateFolder:
    """Names and bounds the files; the engine itself writes and reads them. `engine` is its version."""

    def __init__(self, folder: Path, engine: str) -> None:
        self.folder = folder
        self._engine = engine

    def open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in self.folder.glob("*.tmp"):
            old.unlink(missing_ok=True)

    def prefix_name(self, prefix: str) -> str:
        return f"prefix-{_digest(self._engine, prefix)}.kv"

    def talk_name(self, key: str) -> str:
        return f"talk-{_digest(self._engine, key)}.kv"

    def refresh(self, name: str) -> bool:
        """Whether there is such a file; if so, it counts as just used."""
        try:
            os.utime(self.folder / name)
        except OSError:
            return False
        return True

    def settle(self, written: str, name: str) -> None:
        """Gives a freshly written file its name, and lets the oldest of its kind go."""
        with suppress(OSError):
            (self.folder / written).replace(self.folder / name)
        self._prune("prefix-*.kv", _MAX_PREFIXES)
        self._prune("talk-*.kv", _MAX_TALKS)

    def drop(self, name: str) -> None:
        with suppress(OSError):
            (self.folder / name).unlink(missing_ok=True)

    def _prune(self, pattern: str, most: int) -> None:
        with suppress(OSError):
            files = sorted(self.folder.glob(pattern), key=lambda file: file.stat().st_mtime, reverse=True)
            for file in files[most:]:
                file.unlink(missing_ok=True)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

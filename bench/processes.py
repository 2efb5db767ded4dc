"""The processes of a measurement: what they take of the machine, and the model beside the server."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.support.databases import PostgresDatabases

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_ROOT = Path(__file__).parent.parent


def cpu_s(pid: int) -> float:
    """Processor time of all its threads so far; it counts in hundredths of a second."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    fields = stat[stat.rindex(")") + 2 :].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def memory_mib(pid: int) -> float:
    """Resident memory, shared pages included."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES / 2**20


class ModelProcess:
    """`bench.model`, next to the server and never inside it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.model"], cwd=_ROOT, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().strip()
        if not self.base_url:
            raise RuntimeError("the model did not start")

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


class Storage:
    """Empty databases of one kind, and their size."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self._folder = folder
        self._postgres: PostgresDatabases | None = None
        self._count = 0

    def fresh(self) -> str:
        """A database that the server has yet to migrate."""
        self._count += 1
        if self.kind == "sqlite":
            return f"sqlite:///{self._folder / f'bench-{self._count}.sqlite3'}"
        if self._postgres is None:
            self._postgres = PostgresDatabases()
        return self._postgres.empty()

    def close(self) -> None:
        if self._postgres is not None:
            self._postgres.close()

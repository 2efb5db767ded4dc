"""The file of a backup: packed lines of JSON, the same for both databases.

A header, then for each table its columns and its rows, then the vectors of the search index, then a last
line with the count of all, by which a file that was cut off is known.
"""

import base64
import gzip
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from remanence.core.conform import as_list, as_object
from remanence.errors import BadArgument
from remanence.kit import json
from remanence.kit.json import JsonObject

FORMAT = "remanence-backup"
VERSION = 1
_BYTES = "$bytes"


@dataclass(slots=True)
class BackupWriter:
    file: IO[bytes]
    lines: int = 0

    def line(self, value: object) -> None:
        self.file.write(json.encode(value))
        self.file.write(b"\n")
        self.lines += 1

    def header(self, fields: JsonObject) -> None:
        self.line({"format": FORMAT, "version": VERSION} | fields)

    def table(self, name: str, columns: Sequence[str]) -> None:
        self.line({"table": name, "columns": list(columns)})

    def row(self, values: Sequence[object]) -> None:
        self.line([_plain(value) for value in values])


@contextmanager
def new_backup(path: Path) -> Generator[BackupWriter]:
    """A file that is there, whole and on disk, once this ends well, and not there at all otherwise."""
    draft = path.with_name(f"{path.name}.part")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "wb") as raw:
            with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=4, mtime=0) as packed:
                writer = BackupWriter(packed)  # pyright: ignore[reportArgumentType] it is written to like any other
                yield writer
                writer.line({"end": writer.lines})
            raw.flush()
            os.fsync(raw.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@dataclass(slots=True)
class BackupReader:
    """Reads from the front to the end, once. Raises BadArgument where the file is not what it should be."""

    path: Path
    header: JsonObject = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        first = as_object(next(self._lines(), None))
        if first.get("format") != FORMAT:
            raise BadArgument(f"{self.path} is no backup of this server.")
        if first.get("version") != VERSION:
            raise BadArgument(f"{self.path} was written by a newer server; restore it with that.")
        self.header = first

    def rows(self) -> Iterator[tuple[str, Sequence[str], list[Any]]]:
        """Each row with the name of its table and its columns."""
        table, columns = "", list[str]()
        for line in self._whole():
            if about := as_object(line):
                table, columns = str(about["table"]), as_list(about["columns"])
            else:
                yield table, columns, [_value(each) for each in line]

    def _whole(self) -> Iterator[Any]:
        for count, line in enumerate(self._lines()):
            if "end" in as_object(line):
                if line["end"] != count:
                    break
                return
            if count:
                yield line
        raise BadArgument(f"{self.path} is not whole: it ends before its end. Nothing was kept of it.")

    def _lines(self) -> Iterator[Any]:
        try:
            with gzip.open(self.path, "rb") as file:
                for line in file:
                    yield json.decode(line)
        except (OSError, EOFError, ValueError) as error:
            raise BadArgument(f"{self.path} cannot be read: {error}.") from None


def _plain(value: object) -> object:
    """Dates are written by the encoder of JSON; bytes it does not know."""
    return {_BYTES: base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _value(value: Any) -> Any:
    packed = as_object(value)
    return base64.b64decode(packed[_BYTES]) if packed.keys() == {_BYTES} else value

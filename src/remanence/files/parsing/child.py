"""The process that reads one file: its bytes come in, its text and chunks go out. It is run as a program.

Whatever is wrong with the file is an answer. What the process does not survive, its parent sees.
"""

import codecs
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[3]))

from remanence.core.chunking import Style, split_chunks
from remanence.files.parsing.faults import Budget, Unreadable
from remanence.sandbox.alone import shut_in

_ENCODINGS = (
    "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp437", "cp1250", "cp1251", "cp1252",
    "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "iso8859-2", "iso8859-5", "iso8859-7", "iso8859-9",
    "iso8859-15", "koi8-r", "koi8-u", "shift_jis", "cp932", "euc_jp", "gb2312", "gbk", "gb18030", "big5", "euc_kr",
)  # fmt: skip
"""What pages and texts are written in; an encoding that is not among them is taken for the most frequent."""


def read_any(data: bytes, reader: str, budget: Budget) -> tuple[str, dict[int, str]]:
    """The text, and what begins on which line. Raises Unreadable."""
    if reader == "pdf":
        from remanence.files.parsing.pdf import read_pdf

        return read_pdf(data, budget)
    if reader in ("text", "html"):
        from remanence.files.parsing import texts

        return (texts.read_page if reader == "html" else texts.read_text)(data, budget), {}
    from remanence.files.parsing import office, sheets

    readers = {
        "docx": office.read_docx,
        "pptx": office.read_pptx,
        "odt": office.read_odt,
        "xlsx": sheets.read_xlsx,
    }
    text = readers[reader](data, budget)
    if not text.strip():
        raise Unreadable("No text was found in it.")
    return text, {}


def preload(reader: str) -> None:
    """What cannot be opened once the fence is closed."""
    with contextlib.suppress(Unreadable):
        read_any(b"", reader, Budget(0))
    for name in _ENCODINGS:
        codecs.lookup(name)


def read_and_cut(
    data: bytes, *, reader: str, style: Style, size_chars: int, max_chars: int
) -> dict[str, Any]:
    try:
        text, sections = read_any(data, reader, Budget(max_chars))
    except Unreadable as error:
        return {"error": str(error)}
    text = text.encode(errors="replace").decode()
    chunks = split_chunks(text, style, size_chars=size_chars, sections=sections)
    return {
        "text": text,
        "chunks": [[each.text, each.start_line, each.end_line, each.heading] for each in chunks],
    }


def main() -> None:
    order: dict[str, Any] = json.loads(sys.argv[1])
    preload(order["reader"])
    shut_in(memory_bytes=order["memory_bytes"], cpu_s=order["cpu_s"])
    data = sys.stdin.buffer.read()
    try:
        answer = read_and_cut(
            data,
            reader=order["reader"],
            style=order["style"],
            size_chars=order["size_chars"],
            max_chars=order["max_chars"],
        )
    except (MemoryError, RecursionError):
        answer = {"error": "It takes more memory to read than is allowed here."}
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)  # PDFium needs no tidying up


if __name__ == "__main__":
    main()

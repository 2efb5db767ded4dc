"""Files that were written to do harm, or badly: read in a process of its own, within limits, or told why not."""

import asyncio
import io
import sys
import time
import zipfile
from pathlib import Path

import pytest
from tests.support import documents

from remanence.files.formats import Format, format_of
from remanence.files.parsing.faults import Unreadable
from remanence.files.parsing.reading import Parsed, ParseLimits, parse

LIMITS = ParseLimits(timeout_s=20, memory_bytes=700 << 20, max_chars=2_000_000)
SMALL = ParseLimits(timeout_s=20, memory_bytes=700 << 20, max_chars=1_000)


async def read(name: str, data: bytes, limits: ParseLimits = LIMITS) -> Parsed:
    return await parse(data, format_of(name), size_chars=1200, limits=limits)


async def fault(name: str, data: bytes, limits: ParseLimits = LIMITS) -> str:
    with pytest.raises(Unreadable) as told:
        await read(name, data, limits)
    return str(told.value)


@pytest.mark.parametrize(
    "data",
    [
        "Grüße – 你好".encode(),
        "Grüße – 你好".encode("utf-8-sig"),
        "Grüße – 你好".encode("utf-16"),
        "Grüße – 你好".encode("utf-32"),
        "Grüße – 你好 and some words more".encode("utf-16-le"),
        "Grüße –".encode("cp1252"),
    ],
)
async def test_texts_of_any_encoding_are_read(data: bytes) -> None:
    assert (await read("letter.txt", data)).text.startswith("Grüße –")


async def test_a_page_says_its_encoding_and_is_read_without_its_furniture() -> None:
    html = '<meta charset="shift_jis"><head><title>庭</title></head><nav>menu</nav><p>緑の門</p><script>x()</script>'
    assert (await read("page.html", html.encode("shift_jis"))).text == "# 庭\n\n緑の門"


async def test_office_documents_are_written_out_as_markdown() -> None:
    letter = documents.docx("# Herbs", "Basil & sun.", "## Mint", "Wet soil.", table=[["a", "b"], ["1", "2"]])
    parsed = await read("letter.docx", letter)
    assert parsed.text == "# Herbs\n\nBasil & sun.\n\n## Mint\n\nWet soil.\n\n| a | b |\n| 1 | 2 |\n"
    book = documents.xlsx({"Plants": [["name", "sown"], ["basil", 45_000.0]], "Empty": []})
    assert (
        await read("book.xlsx", book)
    ).text == "# Plants\n\n| name | sown |\n| basil | 2023-03-15 |\n\n# Empty\n\n"
    slides = documents.pptx(["The garden", "Green gate"], ["Thanks"])
    assert (
        "# Slide 1\n\nThe garden\n\nGreen gate\n\n# Slide 2\n\nThanks" in (await read("t.pptx", slides)).text
    )
    assert (await read("o.odt", documents.odt("Title", "Text."))).text == "# Title\n\nText.\n"


async def test_a_pdf_is_read_page_by_page() -> None:
    parsed = await read("book.pdf", documents.pdf(["The gate is green.", "The key (small)\nhangs there."]))
    assert parsed.text == "The gate is green.\n\nThe key (small)\nhangs there.\n"
    small = await parse(
        documents.pdf([f"Page {number} says something." for number in range(1, 4)]),
        format_of("b.pdf"),
        size_chars=40,
        limits=LIMITS,
    )
    assert [chunk.heading for chunk in small.chunks] == ["Page 1", "Page 2", "Page 3"]


async def test_what_is_not_what_its_name_says_is_told() -> None:
    book = documents.pdf(["words"])
    assert "it is a PDF" in await fault("book.txt", book)
    assert "no PDF" in await fault("book.pdf", b"just words")
    assert "no PDF" in await fault("book.pdf", b"%PDF-1.7\n1 0 obj <<")
    assert "zip archive" in await fault("notes.md", documents.docx("x"))
    assert "no word/document.xml" in await fault("letter.docx", documents.pptx(["x"]))
    assert "no document of an Office" in await fault("letter.docx", b"words")
    assert "no slides" in await fault("t.pptx", documents.docx("x"))
    assert "no text" in await fault("data.txt", bytes(range(1, 9)) * 1000)
    assert "older Office" in await fault("old.txt", b"\xd0\xcf\x11\xe0" + b"\0" * 100)
    assert "No text was found" in await fault("scan.pdf", documents.pdf(["", ""]))
    assert "No text was found" in await fault("empty.docx", documents.docx())


async def test_a_damaged_or_locked_document_is_told() -> None:
    whole = documents.docx("Basil. " * 2000)
    assert "Office" in await fault("cut.docx", whole[: len(whole) // 2])
    assert "damaged" in await fault("bad.docx", documents.archive({"word/document.xml": "<a><b></a>"}))
    changed = bytearray(whole)
    changed[60:70] = b"0123456789"
    assert "damaged" in await fault("changed.docx", bytes(changed))
    locked = bytearray(whole)
    for place in (whole.find(b"PK\x03\x04") + 6, whole.find(b"PK\x01\x02") + 8):
        locked[place] |= 1
    assert "password" in await fault("locked.docx", bytes(locked))


async def test_a_zip_bomb_is_left_unexploded() -> None:
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed,
        packed.open("word/document.xml", "w") as part,
    ):
        for _ in range(300):
            part.write(b" " * (1 << 20))
    assert len(file.getvalue()) < 400_000
    assert "unpacks to more than" in await fault("bomb.docx", file.getvalue())
    many = documents.docx("x" * 100_000)
    assert "longer than 1,000 characters" in await fault("long.docx", many, SMALL)
    assert "longer than 1,000 characters" in await fault("long.txt", b"x" * 1_001, SMALL)


async def test_entities_and_depth_without_end_are_refused() -> None:
    laughs = (
        '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><w:document xmlns:w="w">&b;</w:document>'
    )
    assert "entities" in await fault("laughs.docx", documents.archive({"word/document.xml": laughs}))
    deep = "<a>" * 100_000 + "</a>" * 100_000
    assert "nested" in await fault("deep.docx", documents.archive({"word/document.xml": deep}))
    assert (await read("deep.html", b"<div>" * 50_000 + b"bottom")).text == "bottom"
    assert (await read("deep.json", b"[" * 200_000)).text == "[" * 200_000


async def test_a_pdf_that_never_ends_does_not_hold_up_its_reader() -> None:
    endless = documents.pdf(["a", "b"]).replace(b"/Kids [4 0 R 6 0 R]", b"/Kids [2 0 R 2 0 R]")
    assert await fault("loop.pdf", endless)
    many = documents.pdf(["x"]).replace(b"/Count 1", b"/Count 99999999")
    assert (await read("many.pdf", many)).text == "x\n"


async def test_what_takes_too_long_or_too_much_memory_is_stopped() -> None:
    started = time.monotonic()
    slow = ParseLimits(timeout_s=0.05, memory_bytes=700 << 20, max_chars=2_000_000)
    assert "longer than 0.05 seconds" in await fault("slow.txt", b"x" * 1_000_000, slow)
    assert time.monotonic() - started < 10
    tight = ParseLimits(timeout_s=20, memory_bytes=120 << 20, max_chars=100_000_000)
    assert "memory" in await fault("fat.txt", b"x" * (60 << 20), tight)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there are limits alone")
async def test_whoever_takes_over_the_reading_process_can_reach_nothing(tmp_path: Path) -> None:
    """The process is asked to do what a broken parser might be made to do."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    program = f"""
import os, socket, sys
from remanence.sandbox.alone import shut_in
shut_in(memory_bytes=1 << 30, cpu_s=5)
def refused(act):
    try:
        act()
    except OSError:
        return True
    return False
print(refused(lambda: open({str(secret)!r})), refused(lambda: open("/etc/passwd")),
      refused(lambda: open({str(tmp_path / "new")!r}, "w")), refused(lambda: socket.socket()),
      refused(os.fork), refused(lambda: os.kill(os.getppid(), 0)), refused(lambda: os.execv("/bin/true", ["true"])))
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    said, complaint = await process.communicate()
    assert said.decode().split() == ["True"] * 7, complaint.decode()


def test_every_extension_of_the_contract_is_taken() -> None:
    told = (
        "txt md markdown json jsonl csv pdf html htm xml yaml yml toml ini cfg conf css scss sass less js jsx ts tsx "
        "vue py java c h cpp cxx cs go rs rb php swift kt scala r m sql sh bash ps1 bat cmd dockerfile"
    )
    assert all(isinstance(format_of(f"x.{ending}"), Format) for ending in told.split())
    assert format_of("Dockerfile").style == "code"

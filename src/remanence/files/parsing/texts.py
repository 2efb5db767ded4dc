"""Texts of any encoding, and web pages."""

import codecs
import re

from remanence.core.readable import readable_text
from remanence.files.parsing.faults import Budget, Unreadable

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(rb"""(?:encoding|charset)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""")
_OTHERS = (
    (b"%PDF-", "a PDF; give it the extension pdf"),
    (b"PK\x03\x04", "a zip archive, as Office documents are; give it its own extension"),
    (b"\xd0\xcf\x11\xe0", "an older Office document; save it as docx, xlsx, pptx or pdf"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"\x1f\x8b", "a compressed file"),
)
_CONTROLS = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f]")
_LOOKED_AT = 100_000
_MOST_CONTROLS = 0.02
_TAGS = re.compile("<[a-zA-Z!/]")
_MOST_TAGS = 2_000_000


def read_text(data: bytes, budget: Budget) -> str:
    """Raises Unreadable for what is no text."""
    for start, what in _OTHERS:
        if data.startswith(start):
            raise Unreadable(f"Its name says that it is a text, but it is {what}.")
    text = _decode(data)
    budget.spend(len(text))
    sample = text[:_LOOKED_AT]
    odd = len(_CONTROLS.findall(sample)) + sample.count("\0")
    if odd > len(sample) * _MOST_CONTROLS:
        raise Unreadable("It is no text: it holds bytes that no writing has.")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def _decode(data: bytes) -> str:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    declared = _DECLARED.search(data[:1024])
    if declared is not None:
        try:
            if codecs.lookup(declared[1].decode()).name not in ("utf-8", "utf-16", "utf-32"):
                return data.decode(declared[1].decode(), "replace")
        except LookupError:
            pass  # nobody knows that encoding; what follows fits most
    sample = data[:_LOOKED_AT]
    if len(sample) > 3 and max(sample[0::2].count(0), sample[1::2].count(0)) * 4 > len(sample):
        return data.decode(
            "utf-16-be" if sample[0::2].count(0) > sample[1::2].count(0) else "utf-16-le", "replace"
        )
    return data.decode("cp1252", "replace")


def read_page(data: bytes, budget: Budget) -> str:
    """A web page as headings, paragraphs, lists and links."""
    html = read_text(data, budget)
    if len(_TAGS.findall(html)) > _MOST_TAGS:
        raise Unreadable(f"It has more than {_MOST_TAGS:,} tags, which is the most that is read.")
    title, text = readable_text(html, "")
    return f"# {title}\n\n{text}" if title and not text.startswith("# ") else text

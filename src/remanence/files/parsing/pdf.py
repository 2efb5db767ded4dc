"""PDFs, by PDFium."""

import pypdfium2 as pdfium  # pyright: ignore[reportMissingTypeStubs]  # it has types of its own

from remanence.files.parsing.faults import Budget, Unreadable

MAX_PAGES = 5_000
_PASSWORD_NEEDED = 4


def read_pdf(data: bytes, budget: Budget) -> tuple[str, dict[int, str]]:
    """The text, and the line that each page begins on. Raises Unreadable."""
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD_NEEDED:
            raise Unreadable("It is locked with a password; upload it without one.") from None
        raise Unreadable("It is no PDF, or a damaged one.") from None
    count = len(document)
    if count > MAX_PAGES:
        raise Unreadable(f"It has {count:,} pages, and {MAX_PAGES:,} are the most that are read. Divide it.")
    lines: list[str] = []
    pages: dict[int, str] = {}
    for number in range(count):
        text = _read_page(document, number)
        budget.spend(len(text))
        if text:
            pages[len(lines) + 1] = f"Page {number + 1}"
            lines += [*text.splitlines(), ""]
    if not lines:
        raise Unreadable(
            "No text was found in it. It may hold pictures of pages; those are not read here, so have it recognised first."
        )
    return "\n".join(lines), pages


def _read_page(document: pdfium.PdfDocument, number: int) -> str:
    """Empty for a page that cannot be read: the others still can."""
    try:
        page = document[number]
        text_page = page.get_textpage()
    except pdfium.PdfiumError:
        return ""
    text = text_page.get_text_range()
    text_page.close()
    page.close()
    # PDFium marks hyphens at the ends of lines.
    return (
        text.replace("\ufffe\r\n", "").replace("\r\n", "\n").replace("\ufffe", "-").replace("\0", "").strip()
    )

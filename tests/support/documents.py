"""Small documents of each kind, written by hand so that tests can say what is in them."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
)


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return file.getvalue()


def docx(*paragraphs: str, table: Sequence[Sequence[str]] = ()) -> bytes:
    """A paragraph that begins with `#` is a heading."""
    body = "".join(map(_word_paragraph, paragraphs))
    rows = "".join(
        f"<w:tr>{''.join(f'<w:tc>{_word_paragraph(cell)}</w:tc>' for cell in row)}</w:tr>" for row in table
    )
    rows = f"<w:tbl>{rows}</w:tbl>" if rows else ""
    return archive({"word/document.xml": f"<w:document {_W}><w:body>{body}{rows}</w:body></w:document>"})


def _word_paragraph(text: str) -> str:
    level = len(text) - len(text.lstrip("#"))
    style = f'<w:pPr><w:pStyle w:val="Heading{level}"/></w:pPr>' if level else ""
    return f"<w:p>{style}<w:r><w:t>{escape(text.lstrip('# '))}</w:t></w:r></w:p>"


def xlsx(sheets: Mapping[str, Sequence[Sequence[str | float]]]) -> bytes:
    """Texts are shared strings; numbers below one are kept, whole ones beyond 40,000 are dates."""
    texts: list[str] = []
    parts: dict[str, str | bytes] = {}
    for place, rows in enumerate(sheets.values(), start=1):
        lines: list[str] = []
        for number, row in enumerate(rows, start=1):
            cells: list[str] = []
            for column, value in enumerate(row):
                where = f'r="{chr(65 + column)}{number}"'
                if isinstance(value, str):
                    texts.append(value)
                    cells.append(f'<c {where} t="s"><v>{len(texts) - 1}</v></c>')
                else:
                    style = ' s="1"' if value > 40_000 else ""
                    cells.append(f"<c {where}{style}><v>{value}</v></c>")
            lines.append(f"<row>{''.join(cells)}</row>")
        parts[f"xl/worksheets/sheet{place}.xml"] = (
            f"<worksheet {_S}><sheetData>{''.join(lines)}</sheetData></worksheet>"
        )
    names = "".join(f'<sheet name="{escape(name)}"/>' for name in sheets)
    strings = "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
    parts["xl/workbook.xml"] = f"<workbook {_S}><sheets>{names}</sheets></workbook>"
    parts["xl/sharedStrings.xml"] = f"<sst {_S}>{strings}</sst>"
    parts["xl/styles.xml"] = (
        f'<styleSheet {_S}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'
    )
    return archive(parts)


def pptx(*slides: Sequence[str]) -> bytes:
    return archive(
        {
            f"ppt/slides/slide{place}.xml": f"<p:sld xmlns:p='p' {_A}>"
            + "".join(f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in lines)
            + "</p:sld>"
            for place, lines in enumerate(slides, start=1)
        }
    )


def odt(title: str, *paragraphs: str) -> bytes:
    body = f'<text:h text:outline-level="1">{escape(title)}</text:h>'
    body += "".join(f"<text:p>{escape(text)}</text:p>" for text in paragraphs)
    return archive({"content.xml": f"<office:document-content {_ODF}>{body}</office:document-content>"})


def pdf(pages: Sequence[str]) -> bytes:
    """A page for each text, a line for each of its lines, in ASCII."""
    kids = " ".join(f"{4 + 2 * place} 0 R" for place in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for place, text in enumerate(pages):
        shown = ") Tj T* (".join(_escape(line) for line in text.splitlines())
        stream = f"BT /F1 10 Tf 12 TL 50 800 Td ({shown}) Tj ET"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * place} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    file = bytearray(b"%PDF-1.4\n")
    places: list[int] = []
    for number, content in enumerate(objects, start=1):
        places.append(len(file))
        file += f"{number} 0 obj\n{content}\nendobj\n".encode()
    start = len(file)
    file += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    file += "".join(f"{place:010} 00000 n \n" for place in places).encode()
    file += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(file)


def _escape(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")

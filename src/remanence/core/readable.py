"""A web page as text that a model can read: headings, paragraphs, lists and links, without the furniture."""

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

_SKIPPED = {"script", "style", "noscript", "template", "svg", "iframe", "nav", "footer", "form", "button", "select",
            "aside", "head"}  # fmt: skip
_BLOCKS = {"p", "div", "section", "article", "main", "header", "ul", "ol", "table", "tr", "blockquote", "pre", "dl",
           "dt", "dd", "figure", "figcaption", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "li"}  # fmt: skip
_VOID = {"br", "hr", "img", "input", "meta", "link", "source", "wbr", "col", "area", "base", "embed", "track"}
_MAIN = {"main", "article"}
_ENOUGH_CHARS = 300
"""Of the main part of a page, for the rest to be left out."""


def readable_text(html: str, url: str) -> tuple[str, str]:
    """The title and the text."""
    reader = _Reader(url)
    reader.feed(html)
    reader.close()
    main = _tidy("".join(reader.main))
    return " ".join("".join(reader.title).split()), main if len(main) > _ENOUGH_CHARS else _tidy(
        "".join(reader.text)
    )


def _tidy(text: str) -> str:
    lines = [re.sub(r"[ \t\f\v\u00a0]+", " ", line).strip() for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line for line in lines if line not in ("-", "#"))).strip()


class _Reader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self._url = url
        self._skipping: list[str] = []
        self._depth_of_main = 0
        self._in_title = False
        self._is_preformatted = 0
        self._links: list[tuple[str, list[str]]] = []
        self.title: list[str] = []
        self.text: list[str] = []
        self.main: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        if tag in _SKIPPED:
            self._skipping.append(tag)
        if self._skipping:
            return
        self._depth_of_main += tag in _MAIN
        self._is_preformatted += tag == "pre"
        if tag in _BLOCKS:
            self._add("\n" if tag in ("li", "br", "tr") else "\n\n")
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self._add("#" * int(tag[1]) + " ")
        elif tag == "li":
            self._add("- ")
        elif tag in ("td", "th"):
            self._add(" | ")
        elif tag == "a":
            self._links.append((dict(attrs).get("href") or "", []))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._skipping:
            if tag in self._skipping:
                while self._skipping.pop() != tag:
                    pass
            return
        if tag in _VOID:
            return
        if tag == "a" and self._links:
            href, words = self._links.pop()
            label = " ".join("".join(words).split())
            is_link = href and not href.startswith(("#", "javascript:", "data:"))
            self._add(f"[{label}]({urljoin(self._url, href)})" if is_link and label else label)
        if tag in _BLOCKS:
            self._add("\n\n")
        self._depth_of_main -= tag in _MAIN and self._depth_of_main > 0
        self._is_preformatted -= tag == "pre" and self._is_preformatted > 0

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        if not self._skipping:
            self._add(data if self._is_preformatted else re.sub(r"\s+", " ", data))

    def _add(self, text: str) -> None:
        if self._links:
            self._links[-1][1].append(text)
            return
        self.text.append(text)
        if self._depth_of_main:
            self.main.append(text)

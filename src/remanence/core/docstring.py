"""What a docstring says of a function and its parameters: Google, NumPy and reST styles."""

import inspect
import re
from dataclasses import dataclass
from itertools import pairwise

_PARAMETERS = ("args", "arguments", "params", "parameters", "keyword args", "keyword arguments",
               "other parameters", "attributes")  # fmt: skip
_OTHERS = ("returns", "return", "yields", "yield", "raises", "warns")
_HEADER = re.compile(rf"({'|'.join((*_PARAMETERS, *_OTHERS))})\s*:?\s*", re.IGNORECASE)
_GOOGLE_ENTRY = re.compile(
    r"\*{0,2}(?P<names>[A-Za-z_]\w*)\s*(?:\((?:[^()]|\([^()]*\))*\))?\s*:\s?(?P<text>.*)"
)
_NUMPY_ENTRY = re.compile(r"(?P<names>\*{0,2}[A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*(?::.*)?")
_FIELD = re.compile(r"[:@](?P<kind>\w+)(?:\s+(?P<what>[^:]*?))?\s*:\s?(?P<text>.*)")
_FIELDS = {"param", "parameter", "arg", "argument", "key", "keyword", "var", "ivar", "cvar"}


@dataclass(frozen=True, slots=True)
class Docstring:
    description: str
    parameters: dict[str, str]


def parse_docstring(text: str) -> Docstring:
    """The text before the first section describes the function; sections may be of any of the styles."""
    lines = inspect.cleandoc(text).splitlines()
    starts = [at for at in range(len(lines)) if _is_section(lines, at) or _field(lines[at])]
    description = "\n".join(lines[: starts[0]] if starts else lines).strip()
    parameters: dict[str, str] = {}
    for at, end in pairwise([*starts, len(lines)]):
        field = _field(lines[at])
        if field is not None:
            if field["kind"] in _FIELDS and field["what"]:
                # The name comes last: a type may stand before it.
                name = field["what"].split()[-1].lstrip("*")
                parameters[name] = _joined([field["text"], *_indented(lines[at + 1 : end])])
        elif lines[at].strip().rstrip(":").strip().lower() in _PARAMETERS:
            parameters |= _entries(lines, at, end)
    return Docstring(description, {name: text for name, text in parameters.items() if text})


def _is_section(lines: list[str], at: int) -> bool:
    if _HEADER.fullmatch(lines[at]) is None:
        return False
    return lines[at].rstrip().endswith(":") or _is_underlined(lines, at)


def _is_underlined(lines: list[str], at: int) -> bool:
    return at + 1 < len(lines) and re.fullmatch(r"\s*[-=]{3,}\s*", lines[at + 1]) is not None


def _field(line: str) -> re.Match[str] | None:
    found = _FIELD.fullmatch(line)
    known = _FIELDS | {"return", "returns", "rtype", "type", "raises", "raise", "yields"}
    return found if found is not None and found["kind"] in known else None


def _entries(lines: list[str], at: int, end: int) -> dict[str, str]:
    is_numpy = _is_underlined(lines, at)
    pattern = _NUMPY_ENTRY if is_numpy else _GOOGLE_ENTRY
    body = lines[at + 2 : end] if is_numpy else _section_body(lines, at + 1, end)
    margin = min((_indent(line) for line in body if line.strip()), default=0)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in body:
        entry = pattern.fullmatch(line.strip()) if _indent(line) == margin else None
        if entry is not None:
            names = [name.strip().lstrip("*") for name in entry["names"].split(",")]
            found |= dict.fromkeys(names, "" if is_numpy else entry["text"].strip())
        elif line.strip():
            found |= {name: _joined([found[name], line]) for name in names}
    return found


def _section_body(lines: list[str], start: int, end: int) -> list[str]:
    """The indented lines after a header; what follows further left belongs to no section."""
    body: list[str] = []
    for line in lines[start:end]:
        if line.strip() and _indent(line) == 0:
            break
        body.append(line)
    return body


def _indented(lines: list[str]) -> list[str]:
    return _section_body(lines, 0, len(lines))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: list[str]) -> str:
    return " ".join(stripped for line in lines if (stripped := line.strip()))

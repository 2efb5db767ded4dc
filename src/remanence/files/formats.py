"""The kinds of files that are taken, by their extensions: what they are called, who reads them, how they are cut."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from remanence.core.chunking import Style
from remanence.errors import UnknownType

Reader = Literal["text", "html", "pdf", "docx", "xlsx", "pptx", "odt"]


@dataclass(frozen=True, slots=True)
class Format:
    media_type: str
    reader: Reader = "text"
    style: Style = "prose"


_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_FORMATS = {
    "txt": Format("text/plain"),
    "text": Format("text/plain"),
    "log": Format("text/plain", style="records"),
    "rst": Format("text/x-rst"),
    "tex": Format("text/x-tex"),
    "md": Format("text/markdown", style="headed"),
    "markdown": Format("text/markdown", style="headed"),
    "json": Format("application/json", style="code"),
    "jsonl": Format("application/jsonl", style="records"),
    "csv": Format("text/csv", style="records"),
    "tsv": Format("text/tab-separated-values", style="records"),
    "pdf": Format("application/pdf", "pdf"),
    "html": Format("text/html", "html", "headed"),
    "htm": Format("text/html", "html", "headed"),
    "xml": Format("application/xml", style="code"),
    "docx": Format(f"{_OPEN_XML}wordprocessingml.document", "docx", "headed"),
    "xlsx": Format(f"{_OPEN_XML}spreadsheetml.sheet", "xlsx", "headed"),
    "pptx": Format(f"{_OPEN_XML}presentationml.presentation", "pptx", "headed"),
    "odt": Format("application/vnd.oasis.opendocument.text", "odt", "headed"),
}
_CODE = {
    "yaml": "application/yaml", "yml": "application/yaml", "toml": "application/toml", "ini": "text/plain",
    "cfg": "text/plain", "conf": "text/plain", "css": "text/css", "scss": "text/x-scss", "sass": "text/x-sass",
    "less": "text/x-less", "js": "text/javascript", "jsx": "text/jsx", "mjs": "text/javascript",
    "ts": "text/x-typescript", "tsx": "text/tsx", "vue": "text/x-vue", "svelte": "text/x-svelte",
    "py": "text/x-python", "java": "text/x-java", "c": "text/x-c", "h": "text/x-c", "cpp": "text/x-c++",
    "cxx": "text/x-c++", "cc": "text/x-c++", "hpp": "text/x-c++", "cs": "text/x-csharp", "go": "text/x-go",
    "rs": "text/x-rust", "rb": "text/x-ruby", "php": "text/x-php", "swift": "text/x-swift", "kt": "text/x-kotlin",
    "scala": "text/x-scala", "r": "text/x-r", "m": "text/x-objective-c", "sql": "text/x-sql",
    "sh": "text/x-shellscript", "bash": "text/x-shellscript", "ps1": "text/x-powershell", "bat": "text/x-batch",
    "cmd": "text/x-batch", "dockerfile": "text/x-dockerfile", "makefile": "text/x-makefile", "lua": "text/x-lua",
    "pl": "text/x-perl", "proto": "text/x-protobuf", "graphql": "application/graphql",
}  # fmt: skip
FORMATS = _FORMATS | {ending: Format(media_type, style="code") for ending, media_type in _CODE.items()}


def extension_of(name: str) -> str:
    """In small letters; the whole name where there is no dot, as with a Dockerfile."""
    path = PurePosixPath(name.lower())
    return path.suffix.removeprefix(".") or path.name


def format_of(name: str) -> Format:
    """Raises UnknownType, which says what is taken."""
    found = FORMATS.get(extension_of(name))
    if found is None:
        raise UnknownType(
            f"{name!r} is of no kind that can be read here. Files are known by their extensions; these are taken: "
            f"{', '.join(sorted(FORMATS))}."
        )
    return found


def text_format_of(name: str) -> Format:
    """For the text of a file, which was read already: only how it is cut matters."""
    found = FORMATS.get(extension_of(name), Format("text/plain"))
    return Format(found.media_type, style=found.style)

"""Names of files: what of an uploaded name is kept, and which one is free."""

from pathlib import PurePosixPath

from remanence.edge.fields import check_text
from remanence.errors import BadArgument
from remanence.files.formats import FORMATS, extension_of

MAX_CHARS = 255


def choose_name(uploaded: str, wished: str | None) -> str:
    """Without folders before it; a wished name gets the extension that the file came with, if it has none.

    Raises BadArgument for what is no name.
    """
    plain = _plain(uploaded)
    name = _plain(wished) if wished else plain
    if wished and extension_of(name) not in FORMATS and extension_of(plain) in FORMATS:
        name += PurePosixPath(plain).suffix
    try:
        check_text(name)
    except ValueError as error:
        raise BadArgument(f"The name of the file cannot be kept: {error}.") from None
    if not name or len(name) > MAX_CHARS:
        raise BadArgument(f"A file must have a name of up to {MAX_CHARS} characters; give one with `name`.")
    return name


def _plain(name: str) -> str:
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2].strip()
    return "" if last in (".", "..") else last


def free_name(name: str, taken: set[str]) -> str:
    """The name itself, or with the first number that nobody has: `report_(2).txt`."""
    if name not in taken:
        return name
    path = PurePosixPath(name)
    number = 1
    while (candidate := f"{path.stem}_({number}){path.suffix}") in taken:
        number += 1
    return candidate

"""XML that others have written, read piece by piece: no entities of its own, and no endless depth."""

from collections.abc import Callable, Mapping
from xml.parsers import expat

from remanence.files.parsing.faults import Unreadable

MAX_DEPTH = 256

Attributes = Mapping[str, str]


def read_xml(
    data: bytes,
    on_start: Callable[[str, Attributes], None],
    on_end: Callable[[str], None],
    on_text: Callable[[str], None],
) -> None:
    """Tells of each element by its bare name, without a namespace. Raises Unreadable."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise Unreadable(f"Its elements are nested more than {MAX_DEPTH} deep.")
        on_start(bare(name), {bare(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        on_end(bare(name))

    def refuse(*_: object) -> None:
        raise Unreadable("It declares entities of its own, which no Office program writes.")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = on_text
    parser.EntityDeclHandler = refuse
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise Unreadable(f"It is damaged: its XML cannot be read ({error}).") from None


def bare(name: str) -> str:
    return name.rpartition(" ")[2]

"""Reads the memory blocks back out of a compiled system message.

The small model cannot afford the long text that other models get, so the values are lifted out of
it. The layout is that of `core/prompt.py`: each tag on its own line.
"""

import re
from dataclasses import dataclass

from remanence.core.directories import compiled_names
from remanence.core.prompt import LINE_ARROW, split_system

_BLOCK = re.compile(
    r"^<([^<>\n]+)>\n(<description>\n.*?)^</\1>(?=\n\n<|\n</memory_blocks>)", re.DOTALL | re.MULTILINE
)
_VALUE = re.compile(r"^<value>\n(.*)^</value>", re.DOTALL | re.MULTILINE)
_LINE_NUMBER = re.compile(rf"^\d+{LINE_ARROW.strip()} ?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MemoryBlock:
    label: str
    value: str
    is_read_only: bool = False


@dataclass(frozen=True, slots=True)
class SystemText:
    """A system message taken apart: what the agent was told, and what it remembers."""

    instructions: str
    blocks: tuple[MemoryBlock, ...] = ()
    files: tuple[str, ...] = ()
    """Their names: what is in them has no room here, but it can open them."""


def parse_system_text(text: str) -> SystemText:
    sections = split_system(text)
    found = _BLOCK.finditer(sections.core_memory or "")
    blocks = tuple(_parse_block(match[1], match[2]) for match in found)
    files = tuple(name for name in compiled_names(sections.directories or "") if "/" in name)
    return SystemText(sections.system_prompt, blocks, files)


def without_line_numbers(value: str) -> str:
    """Some agents see their blocks with `1→ ` before each line; the numbers are no part of the text."""
    return _LINE_NUMBER.sub("", value)


def _parse_block(label: str, body: str) -> MemoryBlock:
    found = _VALUE.search(body)
    if found is None:
        return MemoryBlock(label, "")
    is_read_only = "\n- read_only=true\n" in body[: found.start()]
    return MemoryBlock(label, without_line_numbers(found[1]).removesuffix("\n"), is_read_only)

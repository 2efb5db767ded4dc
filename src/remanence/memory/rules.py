"""What a block may be. Pure; the same for blocks from the API and from agents."""

import re

from remanence.core.block import Block
from remanence.errors import Invalid

MAX_LABEL_CHARS = 255
MAX_TAG_CHARS = 255
"""Labels and tags are index keys, and those are bounded in PostgreSQL."""

MAX_LIMIT_CHARS = 2**31 - 1

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def check_block(block: Block) -> None:
    """Raises Invalid with what is wrong and what to do about it."""
    check_texts(block)
    check_length(block)


def check_texts(block: Block) -> None:
    check_label(block.label)
    for tag in block.tags:
        _check_name(tag, "tag", MAX_TAG_CHARS)
    if "\x00" in block.value or "\x00" in (block.description or ""):
        raise Invalid(f"The text of block {block.label!r} contains the NUL character; leave it out.")


def check_length(block: Block) -> None:
    if not 1 <= block.limit <= MAX_LIMIT_CHARS:
        raise Invalid(
            f"The limit of block {block.label!r} must be from 1 to {MAX_LIMIT_CHARS} characters, not {block.limit}."
        )
    if len(block.value) > block.limit:
        raise Invalid(
            f"The value of block {block.label!r} has {len(block.value)} characters, but its limit is {block.limit}. "
            "Shorten the value or raise the limit; nothing was changed."
        )


def check_label(label: str) -> None:
    _check_name(label, "label", MAX_LABEL_CHARS)


def _check_name(text: str, what: str, max_chars: int) -> None:
    if not text.strip():
        raise Invalid(f"A block's {what} must not be empty.")
    if len(text) > max_chars:
        raise Invalid(f"A block's {what} has at most {max_chars} characters, not {len(text)}.")
    if _CONTROL.search(text):
        raise Invalid(f"A block's {what} must not contain line breaks or other control characters.")

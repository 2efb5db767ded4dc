"""The system message: the agent's prompt with its memory, rules and metadata compiled into it.

Sections run from the most to the least stable, the counters last, so that providers can reuse
what they have already read (see `docs/architecture.md`, the prompt prefix).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from remanence.core.block import Block
from remanence.core.directories import SECTION as DIRECTORIES
from remanence.core.profile import Profile
from remanence.core.rules import render_rules
from remanence.core.tool import ToolRule
from remanence.kit.clock import local_text
from remanence.kit.ids import AgentId, ConversationId

PLACEHOLDER = "{CORE_MEMORY}"
"""Where a prompt wants its memory; without it the memory follows the prompt."""

LINE_ARROW = "→ "
"""Between a line's number and its text; memory tools refuse texts that carry such a prefix."""

_MEMORY = "memory_blocks"
_RULES = "tool_usage_rules"
_METADATA = "memory_metadata"
_INTRO = "Your memory blocks. They are always in view; what you write into them stays."
_LINE_WARNING = (
    "The numbers before the arrows count the lines for you and are no part of the text: "
    "leave them out when you edit."
)
_COMPILED = "- Memory last compiled: "
_OPENED = re.compile(r"^<([^<>\n]+)>\n<description>$", re.MULTILINE)
_RULES_INTRO = "The order in which tools may be called:"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMetadata:
    agent_id: AgentId
    conversation_id: ConversationId | None
    compiled_at: datetime
    timezone: str | None
    recall_count: int
    """Messages of this agent that were stored before this compilation."""
    archival_count: int = 0
    compiled_text: str | None = None
    """Shown in place of `compiled_at`, where the time of an earlier compilation is kept."""


@dataclass(frozen=True, slots=True)
class SystemSections:
    """A compiled system message, taken apart again for people to look at."""

    system_prompt: str
    core_memory: str | None
    tool_usage_rules: str | None
    directories: str | None
    metadata: str | None


def compile_system(
    *,
    system: str,
    profile: Profile,
    blocks: Sequence[Block],
    rules: Sequence[ToolRule],
    directories: str | None = None,
    metadata: PromptMetadata,
    line_numbers: bool,
) -> str:
    """The text of the system message. The same input gives the same bytes."""
    sections = (
        render_blocks(blocks, line_numbers=line_numbers) if profile.has_memory_section else None,
        _render_rules_section(rules),
        directories,
        render_metadata(metadata),
    )
    memory = "\n\n".join(section for section in sections if section)
    if PLACEHOLDER in system:
        return system.replace(PLACEHOLDER, memory)
    return f"{system}\n\n{memory}"


def render_blocks(blocks: Sequence[Block], *, line_numbers: bool) -> str | None:
    if not blocks:
        return None
    rendered = "\n\n".join(_render_block(block, line_numbers) for block in blocks)
    return _section(_MEMORY, f"{_INTRO}\n\n{rendered}")


def render_metadata(metadata: PromptMetadata) -> str:
    lines = [
        f"- AGENT_ID: {metadata.agent_id}",
        f"- CONVERSATION_ID: {metadata.conversation_id or 'default'}",
        f"{_COMPILED}{metadata.compiled_text or local_text(metadata.compiled_at, metadata.timezone)}",
        f"- Earlier messages kept in recall memory: {metadata.recall_count}",
    ]
    if metadata.archival_count > 0:
        lines.append(f"- Passages kept in archival memory: {metadata.archival_count}")
    return _section(_METADATA, "\n".join(lines))


def split_system(compiled: str) -> SystemSections:
    """Take a compiled system message apart; what has no tags of ours is all prompt.

    Block values may hold anything, even tags like ours. So the memory reaches from the first opening
    to the last closing tag, and the other sections are looked for outside it alone.
    """
    head, memory, tail = _cut(compiled, f"<{_MEMORY}>", f"</{_MEMORY}>")
    if memory is None:
        head, tail = "", compiled
    before, directories, tail = _cut(tail, f"<{DIRECTORIES}>", f"</{DIRECTORIES}>")
    if directories is None:
        before, tail = "", before
    rest, metadata, after = _cut(tail, f"<{_METADATA}>", f"</{_METADATA}>")
    between, rules, apart = _cut(f"{before}\n\n{rest}", f"<{_RULES}>", f"</{_RULES}>")
    prompt = "\n\n".join(text for part in (head, between, apart, after) if (text := part.strip()))
    return SystemSections(prompt, memory, rules, directories, metadata)


def shows_blocks(compiled: str, blocks: Sequence[Block], *, line_numbers: bool) -> bool:
    """Whether a compiled system message has the memory as it is now, and no more."""
    has_all = all(_render_block(block, line_numbers) in compiled for block in blocks)
    return has_all and len(compiled_labels(compiled)) == len(blocks)


def shows_block(compiled: str, block: Block) -> bool:
    """Whether it has this block, in whichever form."""
    return any(_render_block(block, line_numbers) in compiled for line_numbers in (False, True))


def looks_alike(one: Block, other: Block) -> bool:
    return _render_block(one, line_numbers=False) == _render_block(other, line_numbers=False)


def compiled_labels(compiled: str) -> list[str]:
    """The labels of the blocks in it. A value may hold what looks like another block; it is then one more."""
    return _OPENED.findall(compiled)


def find_compile_time(compiled: str) -> str | None:
    """When this system message says it was compiled."""
    found = [line for line in compiled.splitlines() if line.startswith(_COMPILED)]
    return found[-1].removeprefix(_COMPILED) if found else None


def _render_block(block: Block, line_numbers: bool) -> str:
    facts = ["- read_only=true"] if block.read_only else []
    facts += [f"- chars_current={len(block.value)}", f"- chars_limit={block.limit}"]
    parts = [
        _section("description", block.description or ""),
        _section("metadata", "\n".join(facts)),
    ]
    value = block.value
    if line_numbers and value:
        parts.append(_section("warning", _LINE_WARNING))
        value = "\n".join(f"{number}{LINE_ARROW}{line}" for number, line in enumerate(value.split("\n"), 1))
    parts.append(_section("value", value))
    return _section(block.label, "\n".join(parts))


def _render_rules_section(rules: Sequence[ToolRule]) -> str | None:
    text = render_rules(rules)
    return _section(_RULES, f"{_RULES_INTRO}\n{text}") if text else None


def _section(tag: str, body: str) -> str:
    return f"<{tag}>\n{body}\n</{tag}>"


def _cut(text: str, opening: str, closing: str) -> tuple[str, str | None, str]:
    """What stands before a section, the section, and what stands after it; tags count on a line of their own."""
    start = f"\n{text}".find(f"\n{opening}\n")
    end = text.rfind(f"\n{closing}")
    if start < 0 or end < start:
        return text, None, ""
    end += 1 + len(closing)
    return text[:start], text[start:end], text[end:]

"""The memory tools, as functions from blocks to edits. They never write, and never half-succeed.

What fails says why and how to do it right: the model reads it and tries again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import cast

from remanence.core.block import (
    Block,
    BlockAdded,
    BlockDropped,
    BlockEdit,
    DescriptionSet,
    LabelSet,
    ValueSet,
    apply_edit,
)
from remanence.core.matching import explain_missing, find_lines, has_line_prefix, quote
from remanence.core.passage import PassageAdded
from remanence.core.patch import AddBlock, DeleteBlock, PatchError, UpdateBlock, apply_hunks, parse_patch
from remanence.core.text_merge import Touching, merge_texts
from remanence.kit.clock import utc_now
from remanence.kit.ids import OrgId, new_block_id, new_passage_id
from remanence.kit.json import JsonObject
from remanence.tools.builtin.outcome import ToolFailure, ToolOutcome
from remanence.tools.builtin.spelling import canonical_arguments

_MAX_LABEL_CHARS = 100
_FOLDER = "/memories"


def run_memory_tool(
    name: str,
    args: JsonObject,
    blocks: tuple[Block, ...],
    organization_id: OrgId,
    *,
    seen: tuple[Block, ...] | None = None,
) -> ToolOutcome:
    """Run one of `MEMORY_TOOLS` on an agent's blocks. Raises ToolFailure.

    `seen` are the blocks as the model knew them: the call is about those, and what others have written
    since then is kept, or else the call fails.
    """
    desk = _Desk(blocks if seen is None else seen, organization_id, canonical_arguments(name, args))
    text = _TOOLS[name](desk)
    edits = tuple(desk.edits)
    if seen is None or seen == blocks or not edits:
        return ToolOutcome(text, (*edits, *desk.kept))
    merged = _rebased(edits, seen, _Desk(blocks, organization_id, {}))
    values = [edit.value for edit in merged if isinstance(edit, ValueSet)]
    return ToolOutcome(values[-1] if values else text, (*merged, *desk.kept), edits)


@dataclass(slots=True)
class _Desk:
    """The blocks as they stand in the middle of a call, and the edits that brought them there."""

    blocks: tuple[Block, ...]
    organization_id: OrgId
    args: JsonObject
    edits: list[BlockEdit] = field(default_factory=list[BlockEdit])
    kept: list[PassageAdded] = field(default_factory=list[PassageAdded])
    """What goes into the archive."""

    def text(self, name: str) -> str:
        value = self.args.get(name)
        if not isinstance(value, str):
            raise ToolFailure(f"Give {name} as a text.")
        return value

    def optional_text(self, name: str) -> str | None:
        return self.text(name) if self.args.get(name) is not None else None

    def line(self, name: str) -> int:
        value = self.args.get(name)
        if value is None:
            return -1
        if not isinstance(value, int) or isinstance(value, bool):
            raise ToolFailure(f"Give {name} as a whole number: 0 for the beginning, -1 for the end.")
        return value

    def find(self, label: str) -> Block | None:
        return next((block for block in self.blocks if block.label == label), None)

    def get(self, label: str) -> Block:
        block = self.find(label)
        if block:
            return block
        labels = [each.label for each in self.blocks]
        if not labels:
            raise ToolFailure(f"There is no block {quote(label)}: you have no memory blocks.")
        alike = get_close_matches(label.casefold(), [each.casefold() for each in labels], 1, 0.6)
        hint = next((f" Do you mean {each}?" for each in labels if each.casefold() in alike), "")
        raise ToolFailure(f"There is no block {quote(label)}. Your blocks: {', '.join(labels)}.{hint}")

    def get_writable(self, label: str) -> Block:
        block = self.get(label)
        if block.read_only:
            raise ToolFailure(f"The block {label} is read-only: you can read it but not change it.")
        return block

    def edit(self, edit: BlockEdit) -> None:
        self.edits.append(edit)
        self.blocks = apply_edit(self.blocks, edit)

    def set_value(self, block: Block, value: str) -> str:
        """Give the block a new value, which is also what the model gets to see."""
        # A block may be over its limit already; an edit that shortens it is then on the right way.
        if len(value) > block.limit and len(value) >= len(block.value):
            raise ToolFailure(
                f"Nothing was changed: {block.label} would have {len(value)} characters, "
                f"{len(value) - block.limit} more than its limit of {block.limit}. "
                "Write less, or first shorten what is in it."
            )
        if value != block.value:
            self.edit(ValueSet(block_id=block.id, value=value))
        return value

    def add(self, label: str, value: str, description: str | None = None) -> None:
        self.check_new_label(label)
        block = Block(
            id=new_block_id(),
            organization_id=self.organization_id,
            label=label,
            value=value,
            description=description,
        )
        if len(value) > block.limit:
            raise ToolFailure(
                f"Nothing was created: the text has {len(value)} characters, {len(value) - block.limit} more "
                f"than the limit of {block.limit}. Write less."
            )
        self.edit(BlockAdded(block=block))

    def keep(self, text: str) -> None:
        self.kept.append(PassageAdded(id=new_passage_id(), text=text, created_at=utc_now()))

    def check_new_label(self, label: str) -> None:
        if self.find(label):
            raise ToolFailure(f"There is already a block {quote(label)}: edit it, or choose another label.")
        if not label or len(label) > _MAX_LABEL_CHARS:
            raise ToolFailure(f"A label has 1 to {_MAX_LABEL_CHARS} characters.")
        if any(char in "<>" or not char.isprintable() for char in label):
            raise ToolFailure("A label is a short name of letters, digits, _ and -, such as project_notes.")


def _rebased(edits: Sequence[BlockEdit], seen: tuple[Block, ...], desk: _Desk) -> tuple[BlockEdit, ...]:
    """Edits of the blocks as they were seen, on the blocks of this desk. Raises ToolFailure."""
    for edit in edits:
        match edit:
            case BlockAdded(block=block):
                desk.check_new_label(block.label)
                desk.edit(edit)
            case _:
                was = next(block for block in seen if block.id == edit.block_id)
                now = next((block for block in desk.blocks if block.id == edit.block_id), None)
                if now is None or now.read_only:
                    state = "no longer yours" if now is None else "read-only now"
                    raise ToolFailure(f"Nothing was changed: {was.label} is {state}; somebody else did that.")
                match edit:
                    case ValueSet(value=value):
                        desk.set_value(now, _merged(was, now, value))
                    case LabelSet(label=label):
                        desk.check_new_label(label)
                        desk.edit(edit)
                    case _:
                        desk.edit(edit)
        seen = apply_edit(seen, edit)
    return tuple(desk.edits)


def _merged(was: Block, now: Block, value: str) -> str:
    try:
        return merge_texts(was.value, now.value, value)
    except Touching:
        raise ToolFailure(
            f"Nothing was changed: while you worked, somebody else changed the same lines of {now.label}. "
            f"Make your edit again so that it fits what {now.label} says now:\n{now.value}"
        ) from None


def _append(desk: _Desk) -> str:
    block = desk.get_writable(desk.text("label"))
    return desk.set_value(block, _with_text_at_end(block.value, _clean(desk.text("content"))))


def _replace_core(desk: _Desk) -> str:
    return _replace(desk, desk.text("label"), desk.text("old_content"), desk.text("new_content"))


def _replace_string(desk: _Desk) -> str:
    return _replace(desk, desk.text("label"), desk.text("old_string"), desk.text("new_string"))


def _insert_string(desk: _Desk) -> str:
    return _insert(desk, desk.text("label"), desk.text("new_string"), desk.line("insert_line"))


def _rethink(desk: _Desk) -> str:
    return desk.set_value(desk.get_writable(desk.text("label")), _clean(desk.text("new_memory")))


def _finish(desk: _Desk) -> str:
    return "Memory edits finished."


def _capture(desk: _Desk) -> str:
    facts = desk.args.get("facts")
    if not isinstance(facts, list):
        raise ToolFailure("Give facts as a list of objects with a label and a text.")
    added, left = 0, list[str]()
    told: set[str] = set()
    for fact in cast("list[object]", facts):
        fields = cast("JsonObject", fact) if isinstance(fact, dict) else {}
        label, text = fields.get("label"), fields.get("text")
        block = desk.find(label) if isinstance(label, str) else None
        if not isinstance(text, str) or not text.strip() or (block is not None and block.read_only):
            left.append(quote(str(label)))
        elif block is None:  # it belongs in none of them, and is kept all the same
            if text.strip() not in told:
                told.add(text.strip())
                desk.keep(text.strip())
                added += 1
        elif " ".join(text.split()).casefold() not in " ".join(block.value.split()).casefold():
            desk.set_value(block, _with_text_at_end(block.value, _clean(text.strip())))
            added += 1
    note = f" No text, or the block is read-only: {', '.join(left)}." if left else ""
    return f"{added} new facts were written down.{note}"


def _replace(desk: _Desk, label: str, old: str, new: str) -> str:
    block = desk.get_writable(label)
    old, new = _clean(old), _clean(new)
    if not old:
        raise ToolFailure("The text to replace is empty: say which words to replace, or insert instead.")
    lines = find_lines(block.value, old)
    if not lines:
        raise ToolFailure(f"{label} does not contain {quote(old)}. {explain_missing(old, block.value)}")
    if len(lines) > 1:
        where = ", ".join(map(str, lines))
        raise ToolFailure(
            f"{label} contains {quote(old)} {len(lines)} times (lines {where}). "
            "Give more of the surrounding words, so that one place is meant."
        )
    return desk.set_value(block, block.value.replace(old, new, 1))


def _insert(desk: _Desk, label: str, text: str, line: int) -> str:
    block = desk.get_writable(label)
    text = _clean(text)
    if line == -1:
        return desk.set_value(block, _with_text_at_end(block.value, text))
    lines = block.value.split("\n") if block.value else []
    if not 0 <= line <= len(lines):
        raise ToolFailure(
            f"{label} has {len(lines)} lines: insert_line is from 0 (before the first) to {len(lines)} "
            "(after the last), or -1 for the end."
        )
    return desk.set_value(block, "\n".join([*lines[:line], text, *lines[line:]]))


def _apply_patch(desk: _Desk) -> str:
    try:
        steps = parse_patch(desk.text("patch"), label=desk.optional_text("label") or "")
    except PatchError as fault:
        raise ToolFailure(str(fault)) from None
    done: list[str] = []
    for step in steps:
        match step:
            case AddBlock(label=path, value=value):
                desk.add(_label_of(desk, path), value)
                done.append(f"Added {_label_of(desk, path)}.")
            case DeleteBlock(label=path):
                done.append(_drop(desk, _label_of(desk, path)))
            case UpdateBlock():
                done.append(_update(desk, step))
    return "\n".join(done)


def _update(desk: _Desk, step: UpdateBlock) -> str:
    label = _label_of(desk, step.label)
    block = desk.get_writable(label)
    try:
        value = apply_hunks(block.value, step.hunks)
    except PatchError as fault:
        raise ToolFailure(f"{label}: {fault} Nothing was changed.") from None
    desk.set_value(block, value)
    if step.new_label is None:
        return value
    return f"{_rename(desk, label, step.new_label, None)}\n{value}"


def _memory(desk: _Desk) -> str:
    command = desk.text("command")
    run = _COMMANDS.get(command)
    if run is None:
        raise ToolFailure(f"There is no command {quote(command)}. Commands: {', '.join(_COMMANDS)}.")
    return run(desk)


def _command_create(desk: _Desk) -> str:
    label = _label_of(desk, desk.text("path"))
    desk.add(label, _clean(desk.optional_text("file_text") or ""), desk.optional_text("description"))
    return f"Created {label}."


def _command_replace(desk: _Desk) -> str:
    label = _label_of(desk, desk.text("path"))
    return _replace(desk, label, desk.text("old_string"), desk.optional_text("new_string") or "")


def _command_insert(desk: _Desk) -> str:
    text = desk.optional_text("insert_text") or desk.text("new_string")
    return _insert(desk, _label_of(desk, desk.text("path")), text, desk.line("insert_line"))


def _command_delete(desk: _Desk) -> str:
    return _drop(desk, _label_of(desk, desk.text("path")))


def _command_rename(desk: _Desk) -> str:
    path = desk.optional_text("old_path") or desk.text("path")
    return _rename(
        desk, _label_of(desk, path), desk.optional_text("new_path"), desk.optional_text("description")
    )


def _command_view(desk: _Desk) -> str:
    path = desk.optional_text("path")
    if path and _label_of(desk, path):
        return desk.get(_label_of(desk, path)).value
    lines = [
        f"- {block.label} ({len(block.value)} of {block.limit} characters"
        f"{', read-only' if block.read_only else ''}){f': {block.description}' if block.description else ''}"
        for block in desk.blocks
    ]
    return "\n".join(lines) or "There are no memory blocks."


def _rename(desk: _Desk, label: str, new_path: str | None, description: str | None) -> str:
    block = desk.get_writable(label)
    if new_path is None and description is None:
        raise ToolFailure("Give new_path for another label, description for another description, or both.")
    done: list[str] = []
    if new_path is not None:
        new_label = _label_of(desk, new_path)
        desk.check_new_label(new_label)
        desk.edit(LabelSet(block_id=block.id, label=new_label))
        done.append(f"Renamed {label} to {new_label}.")
    if description is not None:
        desk.edit(DescriptionSet(block_id=block.id, description=description))
        done.append(f"The description is now: {description}")
    return " ".join(done)


def _drop(desk: _Desk, label: str) -> str:
    desk.edit(BlockDropped(block_id=desk.get_writable(label).id))
    return f"Removed {label}."


def _label_of(desk: _Desk, path: str) -> str:
    """The label that a path names: `/memories/notes`, `memories/notes`, `/notes` and `notes` are one."""
    if desk.find(path):
        return path
    bare = path.strip()
    if bare.rstrip("/") in (_FOLDER, _FOLDER[1:]):
        return ""
    for prefix in (f"{_FOLDER}/", f"{_FOLDER[1:]}/", "/"):
        if bare.startswith(prefix):
            return bare.removeprefix(prefix).strip("/")
    return bare


def _clean(text: str) -> str:
    """The text as given; line numbers copied from the view of a block would spoil it, so they are refused."""
    if has_line_prefix(text):
        raise ToolFailure(
            "Leave out the line numbers and arrows (such as 1→): they are shown for orientation only."
        )
    return text


def _with_text_at_end(value: str, text: str) -> str:
    return f"{value}\n{text}" if value and not value.endswith("\n") else value + text


_COMMANDS: Mapping[str, Callable[[_Desk], str]] = {
    "view": _command_view,
    "create": _command_create,
    "str_replace": _command_replace,
    "insert": _command_insert,
    "delete": _command_delete,
    "rename": _command_rename,
}

_TOOLS: Mapping[str, Callable[[_Desk], str]] = {
    "core_memory_append": _append,
    "core_memory_replace": _replace_core,
    "memory": _memory,
    "memory_apply_patch": _apply_patch,
    "memory_replace": _replace_string,
    "memory_insert": _insert_string,
    "memory_rethink": _rethink,
    "memory_finish_edits": _finish,
    "memory_capture": _capture,
}

MEMORY_TOOLS = frozenset(_TOOLS)

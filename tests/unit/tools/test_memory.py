"""The memory tools: what they change, what they answer, and what they refuse."""

from typing import Any

import pytest

from remanence.core.block import (
    Block,
    BlockAdded,
    BlockDropped,
    DescriptionSet,
    LabelSet,
    ValueSet,
    apply_edit,
)
from remanence.kit.ids import DEFAULT_ORG_ID, BlockId, OrgId
from remanence.tools.builtin.memory import run_memory_tool
from remanence.tools.builtin.outcome import ToolFailure, ToolOutcome


def block(label: str, value: str = "", *, limit: int = 200, read_only: bool = False) -> Block:
    return Block(
        id=BlockId(f"block-{label}"),
        organization_id=DEFAULT_ORG_ID,
        label=label,
        value=value,
        limit=limit,
        read_only=read_only,
    )


BLOCKS = (
    block("human", "Name: Ann\nLikes tea\nDrinks tea"),
    block("persona", "I am calm."),
    block("empty"),
    block("law", "Be kind.", read_only=True),
)


def run(name: str, /, **args: Any) -> ToolOutcome:
    return run_memory_tool(name, args, BLOCKS, DEFAULT_ORG_ID)


def failure(name: str, /, **args: Any) -> str:
    with pytest.raises(ToolFailure) as caught:
        run(name, **args)
    return caught.value.text


def set_to(label: str, value: str) -> ToolOutcome:
    return ToolOutcome(value, (ValueSet(block_id=BlockId(f"block-{label}"), value=value),))


class TestAppend:
    def test_the_text_begins_a_line_of_its_own(self):
        assert run("core_memory_append", label="persona", content="I like plums.") == set_to(
            "persona", "I am calm.\nI like plums."
        )

    def test_an_empty_block_takes_the_text_as_it_is(self):
        assert run("core_memory_append", label="empty", content="x") == set_to("empty", "x")

    def test_a_block_that_ends_with_a_line_break_gets_no_second_one(self):
        blocks = (block("list", "a\n"),)
        found = run_memory_tool(
            "core_memory_append", {"label": "list", "content": "b"}, blocks, DEFAULT_ORG_ID
        )
        assert found.text == "a\nb"


class TestReplace:
    def test_a_passage_is_changed(self):
        expected = set_to("human", "Name: Anna\nLikes tea\nDrinks tea")
        assert (
            run("core_memory_replace", label="human", old_content="Name: Ann", new_content="Name: Anna")
            == expected
        )
        assert (
            run("memory_replace", label="human", old_string="Name: Ann", new_string="Name: Anna") == expected
        )

    def test_a_passage_is_removed(self):
        assert run("memory_replace", label="human", old_string="Likes tea\n", new_string="").text == (
            "Name: Ann\nDrinks tea"
        )

    def test_earlier_spellings_of_the_arguments_mean_the_same(self):
        expected = set_to("persona", "I am wise.")
        assert run("memory_replace", label="persona", old_str="calm", new_str="wise") == expected
        assert run("memory_replace", label="persona", old_content="calm", new_content="wise") == expected
        assert run("core_memory_replace", name="persona", old_string="calm", new_string="wise") == expected

    def test_replacing_a_passage_by_itself_edits_nothing(self):
        assert run("memory_replace", label="persona", old_string="calm", new_string="calm") == ToolOutcome(
            "I am calm."
        )

    def test_a_passage_that_is_not_there_is_answered_with_the_nearest_line(self):
        text = failure("memory_replace", label="human", old_string="Name: Anne", new_string="x")
        assert text == 'human does not contain "Name: Anne". The nearest line is 1: "Name: Ann".'
        text = failure("memory_replace", label="human", old_string="likes  tea", new_string="x")
        assert "Line 2 differs from it in blanks or in capital letters alone" in text
        text = failure("memory_replace", label="human", old_string="Ann\\nLikes", new_string="x")
        assert "real line breaks" in text
        assert "no text to look in" in failure(
            "memory_replace", label="empty", old_string="a", new_string="b"
        )

    def test_a_passage_that_is_there_twice_is_answered_with_its_places(self):
        text = failure("core_memory_replace", label="human", old_content=" tea", new_content=" rum")
        assert text.startswith('human contains " tea" 2 times (lines 2, 3).')

    def test_an_empty_passage_cannot_be_replaced(self):
        assert "empty" in failure("memory_replace", label="human", old_string="", new_string="x")


class TestInsert:
    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            (None, "Name: Ann\nLikes tea\nDrinks tea\nNEW"),
            (-1, "Name: Ann\nLikes tea\nDrinks tea\nNEW"),
            (0, "NEW\nName: Ann\nLikes tea\nDrinks tea"),
            (1, "Name: Ann\nNEW\nLikes tea\nDrinks tea"),
            (3, "Name: Ann\nLikes tea\nDrinks tea\nNEW"),
        ],
    )
    def test_lines_go_where_they_are_wanted(self, line: int | None, expected: str):
        assert run("memory_insert", label="human", new_string="NEW", insert_line=line) == set_to(
            "human", expected
        )

    @pytest.mark.parametrize("line", [0, -1])
    def test_an_empty_block_has_one_place(self, line: int):
        assert run("memory_insert", label="empty", new_string="x", insert_line=line).text == "x"

    @pytest.mark.parametrize("line", [4, -2])
    def test_a_line_that_does_not_exist_is_refused(self, line: int):
        assert "has 3 lines" in failure("memory_insert", label="human", new_string="x", insert_line=line)

    def test_a_line_must_be_a_whole_number(self):
        assert "whole number" in failure("memory_insert", label="human", new_string="x", insert_line="top")


class TestGuards:
    @pytest.mark.parametrize(
        ("name", "args"),
        [
            ("core_memory_append", {"content": "x"}),
            ("core_memory_replace", {"old_content": "kind", "new_content": "x"}),
            ("memory_replace", {"old_string": "kind", "new_string": "x"}),
            ("memory_insert", {"new_string": "x"}),
            ("memory_rethink", {"new_memory": "x"}),
            ("memory_apply_patch", {"patch": "-Be kind.\n+x"}),
            ("memory", {"command": "str_replace", "old_string": "kind", "new_string": "x"}),
            ("memory", {"command": "insert", "insert_text": "x"}),
            ("memory", {"command": "delete"}),
            ("memory", {"command": "rename", "new_path": "x"}),
        ],
    )
    def test_nothing_changes_a_read_only_block(self, name: str, args: dict[str, Any]):
        assert "read-only" in failure(name, label="law", **args)

    def test_an_unknown_label_is_answered_with_those_that_exist(self):
        text = failure("memory_insert", label="Humans", new_string="x")
        assert text == (
            'There is no block "Humans". Your blocks: human, persona, empty, law. Do you mean human?'
        )
        with pytest.raises(ToolFailure, match="no memory blocks"):
            run_memory_tool("memory_insert", {"label": "x", "new_string": "y"}, (), DEFAULT_ORG_ID)

    @pytest.mark.parametrize("text", ["1→ Name: Ann", "1→Name: Ann", "fine\n  12→ not"])
    def test_line_numbers_of_the_view_are_refused(self, text: str):
        assert "line numbers" in failure("memory_replace", label="human", old_string=text, new_string="x")
        assert "line numbers" in failure("memory_replace", label="human", old_string="Ann", new_string=text)
        assert "line numbers" in failure("memory_insert", label="human", new_string=text)
        assert "line numbers" in failure("memory_rethink", label="human", new_memory=text)
        assert "line numbers" in failure("core_memory_append", label="human", content=text)

    def test_an_arrow_inside_a_line_is_only_text(self):
        assert run("memory_rethink", label="empty", new_memory="step 1→ step 2").text == "step 1→ step 2"

    def test_a_block_never_grows_over_its_limit_and_nothing_is_cut(self):
        text = failure("memory_insert", label="empty", new_string="x" * 230)
        assert text.startswith(
            "Nothing was changed: empty would have 230 characters, 30 more than its limit of 200."
        )
        assert run("memory_insert", label="empty", new_string="x" * 200).text == "x" * 200

    def test_a_block_that_is_over_its_limit_already_may_be_shortened(self):
        blocks = (block("old", "x" * 300),)
        found = run_memory_tool(
            "memory_rethink", {"label": "old", "new_memory": "x" * 250}, blocks, DEFAULT_ORG_ID
        )
        assert len(found.text) == 250

    def test_missing_arguments_are_asked_for(self):
        assert failure("memory_insert", label="human") == "Give new_string as a text."
        assert failure("memory_insert", new_string="x") == "Give label as a text."


def test_a_block_is_written_anew():
    assert run("memory_rethink", label="human", new_memory="Anna.") == set_to("human", "Anna.")


def test_finishing_edits_nothing():
    assert run("memory_finish_edits") == ToolOutcome("Memory edits finished.")


class TestMemoryCommands:
    def test_create_makes_a_block_of_the_agents_own(self):
        found = run(
            "memory", command="create", path="/memories/garden", file_text="Beds: 4", description="Plants."
        )
        (edit,) = found.edits
        assert isinstance(edit, BlockAdded)
        made = edit.block
        assert (made.label, made.value, made.description) == ("garden", "Beds: 4", "Plants.")
        assert made.organization_id == DEFAULT_ORG_ID
        assert made.id.startswith("block-")
        assert found.text == "Created garden."

    @pytest.mark.parametrize("path", ["/memories/human", "memories/human", "/human", "human"])
    def test_a_path_and_a_label_are_one(self, path: str):
        assert run("memory", command="str_replace", path=path, old_string="Ann", new_string="Anna").edits
        assert "already" in failure("memory", command="create", path=path)

    @pytest.mark.parametrize("path", ["/memories/", "", "a<b", "a\nb", "x" * 101])
    def test_a_label_must_be_a_name(self, path: str):
        assert "label" in failure("memory", command="create", path=path)

    def test_a_new_block_stays_within_the_limit_too(self):
        assert "Nothing was created" in failure("memory", command="create", path="x", file_text="x" * 100_001)

    def test_insert_and_replace_answer_with_the_new_text(self):
        assert run("memory", command="insert", path="empty", insert_line=0, insert_text="x") == set_to(
            "empty", "x"
        )
        assert run("memory", command="str_replace", path="persona", old_string=" calm") == set_to(
            "persona", "I am."
        )
        assert run("memory", command="insert", path="empty", new_str="x") == set_to("empty", "x")

    def test_delete_lets_go_of_the_block(self):
        found = run("memory", command="delete", path="/memories/empty")
        assert found == ToolOutcome("Removed empty.", (BlockDropped(block_id=BlockId("block-empty")),))

    def test_rename_gives_another_label_or_description_or_both(self):
        both = run(
            "memory", command="rename", old_path="empty", new_path="/memories/notes", description="Odds."
        )
        assert both.edits == (
            LabelSet(block_id=BlockId("block-empty"), label="notes"),
            DescriptionSet(block_id=BlockId("block-empty"), description="Odds."),
        )
        described = run("memory", command="rename", path="empty", description="Odds.")
        assert described.edits == (DescriptionSet(block_id=BlockId("block-empty"), description="Odds."),)
        assert "new_path" in failure("memory", command="rename", path="empty")
        assert "already" in failure("memory", command="rename", path="empty", new_path="human")

    def test_view_shows_a_block_or_lists_them_all(self):
        assert run("memory", command="view", path="/memories/law") == ToolOutcome("Be kind.")
        everything = run("memory", command="view").text
        assert run("memory", command="view", path="/memories").text == everything
        assert "- human (30 of 200 characters)" in everything
        assert "- law (8 of 200 characters, read-only)" in everything

    def test_an_unknown_command_is_answered_with_those_that_exist(self):
        assert failure("memory", command="append", path="human").endswith(
            "Commands: view, create, str_replace, insert, delete, rename."
        )


class TestPatch:
    def test_a_block_is_patched(self):
        found = run("memory_apply_patch", label="human", patch="-Name: Ann\n+Name: Anna\n@@\n-Drinks tea")
        assert found == set_to("human", "Name: Anna\nLikes tea")

    def test_several_blocks_are_patched_together(self):
        patch = (
            "*** Begin Patch\n*** Update Block: human\n-Name: Ann\n+Name: Anna\n*** Add Block: trip\n+Bergen\n"
            "*** Update Block: persona\n*** Move to: self\n-I am calm.\n+I am wise.\n"
            "*** Delete Block: empty\n*** End Patch"
        )
        blocks = BLOCKS
        for edit in run("memory_apply_patch", label="human", patch=patch).edits:
            blocks = apply_edit(blocks, edit)
        assert {each.label: each.value for each in blocks} == {
            "human": "Name: Anna\nLikes tea\nDrinks tea",
            "self": "I am wise.",
            "law": "Be kind.",
            "trip": "Bergen",
        }

    def test_a_patch_that_fits_in_part_changes_nothing(self):
        patch = "*** Begin Patch\n*** Delete Block: empty\n*** Update Block: human\n-Nope\n+x\n*** End Patch"
        text = failure("memory_apply_patch", label="human", patch=patch)
        assert text.startswith('human: Hunk 1 does not fit. There is no line "Nope".')
        assert text.endswith("Nothing was changed.")

    def test_a_patch_stays_within_the_limit_too(self):
        assert "limit" in failure("memory_apply_patch", label="empty", patch="+" + "x" * 300)

    def test_a_patch_that_cannot_be_read_is_explained(self):
        assert "changes nothing" in failure("memory_apply_patch", label="human", patch=" Name: Ann")


def test_a_new_block_belongs_to_the_organization_of_the_agent():
    found = run_memory_tool("memory", {"command": "create", "path": "x"}, (), OrgId("org-x"))
    (edit,) = found.edits
    assert isinstance(edit, BlockAdded)
    assert edit.block.organization_id == "org-x"

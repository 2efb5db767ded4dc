"""Patches: read in every form models write, applied exactly or not at all."""

import difflib
import random

import pytest

from remanence.core.patch import AddBlock, DeleteBlock, PatchError, UpdateBlock, apply_hunks, parse_patch

VALUE = "Name: Ann\nLives in Oslo\n\nLikes:\n- tea\n- cake\nDislikes:\n- tea"


def patched(patch: str, value: str = VALUE) -> str:
    (step,) = parse_patch(patch, label="human")
    assert isinstance(step, UpdateBlock)
    return apply_hunks(value, step.hunks)


def test_a_hunk_replaces_what_it_removes():
    assert patched("@@\n-Name: Ann\n+Name: Anna") == VALUE.replace("Ann", "Anna")


def test_a_hunk_needs_no_header():
    assert patched("-Name: Ann\n+Name: Anna\n Lives in Oslo") == VALUE.replace("Ann", "Anna")


def test_hunks_may_come_in_any_order_and_all_refer_to_the_old_text():
    found = patched("@@\n-- cake\n+- pie\n@@\n-Name: Ann\n+Name: Anna\n+Age: 30")
    assert found == VALUE.replace("Ann", "Anna\nAge: 30").replace("cake", "pie")


def test_blank_lines_between_hunks_are_no_context():
    assert patched("@@\n-Name: Ann\n+Name: Anna\n\n@@\n\n-- cake\n+- pie\n") == VALUE.replace(
        "Ann", "Anna"
    ).replace("cake", "pie")


def test_blank_lines_inside_a_hunk_are():
    assert patched(" Lives in Oslo\n\n-Likes:\n+Loves:") == VALUE.replace("\nLikes", "\nLoves")


def test_context_whose_blank_was_forgotten_is_still_context():
    assert patched("@@\nName: Ann\n+Age: 30") == VALUE.replace("Name: Ann", "Name: Ann\nAge: 30")


def test_a_full_unified_diff_with_file_names_fences_and_counts_is_read():
    patch = "```diff\n--- a/human\n+++ b/human\n@@ -1,2 +1,2 @@\n-Name: Ann\n+Name: Anna\n Lives in Oslo\n\\ No newline at end of file\n```"
    assert patched(patch) == VALUE.replace("Ann", "Anna")


def test_lines_can_be_removed_to_the_last():
    assert patched("-a\n-b", "a\nb") == ""


def test_lines_without_context_go_to_the_end():
    assert patched("@@\n+Plays the cello") == f"{VALUE}\nPlays the cello"
    assert patched("+Plays the cello", "") == "Plays the cello"


def test_lines_without_context_go_where_the_header_says():
    assert patched("@@ -0,0 +1 @@\n+First", "a\nb") == "First\na\nb"
    assert patched("@@ -1,0 +2 @@\n+Between", "a\nb") == "a\nBetween\nb"
    assert patched("@@ Likes:\n+- pie") == VALUE.replace("\nLikes:", "\nLikes:\n- pie")


def test_equal_places_are_told_apart_by_number_anchor_or_end():
    assert patched("@@ -8 +8 @@\n-- tea\n+- rum") == VALUE.removesuffix("tea") + "rum"
    assert patched("@@ Dislikes:\n-- tea\n+- rum") == VALUE.removesuffix("tea") + "rum"
    assert patched("@@ Likes:\n-- tea\n+- rum") == VALUE.replace("tea", "rum", 1)
    assert patched("@@\n-- tea\n+- rum\n*** End of File") == VALUE.removesuffix("tea") + "rum"


def test_an_envelope_holds_several_blocks():
    patch = """*** Begin Patch
*** Update Block: human
@@
-Name: Ann
+Name: Anna
*** Add File: /memories/trip
+Bergen
+
+May
*** Update Block: todo
*** Move to: tasks
*** Delete Block: scratch
*** End Patch
trailing words"""
    update, add, move, delete = parse_patch(patch, label="ignored")
    assert isinstance(update, UpdateBlock)
    assert (update.label, len(update.hunks), update.new_label) == ("human", 1, None)
    assert add == AddBlock("/memories/trip", "Bergen\n\nMay")
    assert move == UpdateBlock("todo", (), "tasks")
    assert delete == DeleteBlock("scratch")


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ("", "empty"),
        ("*** Begin Patch\n*** End Patch", "empty"),
        ("*** Begin Patch\n-a\n+b\n*** End Patch", "Update Block: label"),
        ("*** Add Block: x\nplain", r"begins with \+"),
        (" Name: Ann", "changes nothing"),
        ("-1→ Name: Ann\n+1→ Name: Anna", "line numbers"),
        ("1→ Name: Ann\n+Age: 30", "line numbers"),
        ("-- tea\n+- rum", r"2 places \(lines 5, 8\)"),
        ("-Name: An\n+Name: Anna", 'no line "Name: An". The nearest line is 1: "Name: Ann"'),
        ("-name:  Ann\n+Name: Anna", "blanks or in capital letters alone"),
        ("-Name: Ann\n-- cake\n+x", "not one after the other"),
        ("@@ -1,3 +1,4 @@\n+Plays", "only adds lines"),
        ("@@ Nowhere\n+x", "on 0 lines"),
        ("@@\n-Name: Ann\n+A\n@@\n-Name: Ann\n-Lives in Oslo\n+B", "same lines"),
        ("-zzz\n+y", "Nothing there is like it"),
    ],
)
def test_what_does_not_fit_is_explained(patch: str, words: str):
    with pytest.raises(PatchError, match=words):
        patched(patch)


def test_nothing_can_be_removed_from_an_empty_text():
    with pytest.raises(PatchError, match="no text to look in"):
        patched("-a\n+b", "")


def test_any_diff_made_by_a_machine_applies():
    dice = random.Random(5)
    for _ in range(500):
        old = [f"line {dice.randint(0, 9)}" for _ in range(dice.randint(0, 12))]
        new = [each for each in old if dice.random() > 0.2]
        for _ in range(dice.randint(0, 3)):
            new.insert(dice.randint(0, len(new)), f"new {dice.randint(0, 9)}")
        patch = "\n".join(difflib.unified_diff(old, new, "a", "b", lineterm="", n=dice.randint(0, 3)))
        if patch:
            assert patched(patch, "\n".join(old)) == "\n".join(new), patch

"""Changes of texts: kept small, and joined where they do not touch."""

import random

import pytest

from remanence.core.text_merge import Touching, apply_splices, merge_texts, render_diff, splices_between


def texts(seed: int, count: int) -> list[str]:
    dice = random.Random(seed)
    return ["".join(dice.choice("ab\n") for _ in range(dice.randint(0, 14))) for _ in range(count)]


def test_splices_lead_from_any_text_to_any_other() -> None:
    for old, new in zip(texts(1, 3000), texts(2, 3000), strict=True):
        assert apply_splices(old, splices_between(old, new)) == new


@pytest.mark.parametrize(
    ("old", "new", "splices"),
    [
        ("", "", []),
        ("same", "same", []),
        ("Name: Eve", "Name: Eva", [(8, 9, "a")]),
        ("one", "one\ntwo", [(3, 3, "\ntwo")]),
        ("a\nb\nc", "a\nc", [(2, 4, "")]),
        ("one\nkeep\nthree", "1\nkeep\n3", [(0, 3, "1"), (9, 14, "3")]),
    ],
)
def test_a_splice_holds_only_what_changed(old: str, new: str, splices: list[object]) -> None:
    assert splices_between(old, new) == splices


def test_splices_for_another_text_are_refused() -> None:
    with pytest.raises(ValueError, match="another text"):
        apply_splices("short", [(40, 41, "x")])


def test_a_change_of_thousands_of_lines_is_one_splice() -> None:
    old = "\n".join(map(str, range(3000)))
    assert len(splices_between(old, old.replace("1", "one"))) == 1


def test_a_merge_with_no_other_change_is_the_change() -> None:
    for base, changed in zip(texts(3, 500), texts(4, 500), strict=True):
        assert merge_texts(base, base, changed) == changed
        assert merge_texts(base, changed, base) == changed
        assert merge_texts(base, changed, changed) == changed


@pytest.mark.parametrize(
    ("base", "theirs", "ours", "merged"),
    [
        ("a\nb\nc", "A\nb\nc", "a\nb\nC", "A\nb\nC"),
        ("a", "a\ntheirs", "a\nours", "a\ntheirs\nours"),
        ("", "theirs", "ours", "theirs\nours"),
        ("a\nb\nc", "a\nc", "a\nb\nnew\nc", "a\nnew\nc"),
        ("a\nb\nc", "x\na\nb\nc", "a\nb\nc\ny", "x\na\nb\nc\ny"),
    ],
)
def test_changes_that_do_not_touch_are_joined(base: str, theirs: str, ours: str, merged: str) -> None:
    assert merge_texts(base, theirs, ours) == merged


@pytest.mark.parametrize(
    ("base", "theirs", "ours"),
    [
        ("likes tea", "likes coffee", "likes milk"),
        ("a\nb\nc", "a\nc", "a\nB\nc"),
        ("a\nb\nc", "", "a\nb\nC"),
        ("a\nb\nc\nd", "X\nd", "a\nb\nnew\nc\nd"),
    ],
)
def test_changes_of_the_same_lines_touch(base: str, theirs: str, ours: str) -> None:
    for first, second in ((theirs, ours), (ours, theirs)):
        with pytest.raises(Touching):
            merge_texts(base, first, second)


def test_a_diff_is_readable() -> None:
    assert render_diff("a\nb", "a\nc") == "@@ -1,2 +1,2 @@\n a\n-b\n+c"

"""Finding lines by patterns that a stranger wrote."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.core.open_files import split_lines
from remanence.tools.builtin.grep import LinePattern, Matches, render_matches
from remanence.tools.builtin.outcome import ToolFailure


def numbers(pattern: str, text: str) -> list[int]:
    return list(LinePattern(pattern).find("a.txt", text).numbers)


def test_each_line_is_looked_at_by_itself() -> None:
    text = "alpha\nbeta gamma\n\nälpha beta\n"
    assert numbers("beta", text) == [2, 4]
    assert numbers("^.lpha", text) == [1, 4]
    assert numbers("a$", text) == [1, 2, 4]
    assert numbers(r"alpha\s+beta", text) == []
    assert numbers("^$", text) == [3]
    assert numbers("lpha", "") == []


def test_small_letters_match_capitals_and_capitals_themselves() -> None:
    text = "The Gate\nthe gate"
    assert numbers("gate", text) == [1, 2]
    assert numbers("Gate", text) == [1]
    assert numbers(r"\Sate", text) == [1, 2]


@pytest.mark.parametrize(
    "pattern", ["", "(a", "[z-a]", "(?=a)", r"(a)\1", "a" * 2000, "((a{1000}){1000}){1000}"]
)
def test_what_is_no_pattern_is_said_to_be_none(pattern: str) -> None:
    with pytest.raises(ToolFailure):
        LinePattern(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", "(a*)*c", "([a-z]+)*[0-9]$"])
def test_no_pattern_takes_long(pattern: str) -> None:
    assert numbers(pattern, "a" * 100_000 + "!") == []


@given(
    text=st.text(alphabet=st.sampled_from("abc é\n\r"), max_size=200),
    pattern=st.sampled_from(["a", "b+", "^a", "c$", "é", "[ab]c", "a.c", "^$|a"]),
)
def test_the_same_lines_are_found_as_by_looking_at_each(text: str, pattern: str) -> None:
    lines = split_lines(text)
    expected = [number for number, line in enumerate(lines, 1) if re.search(pattern, line)]
    found = numbers(pattern, text)
    # A last line without a letter is no line to look at.
    assert [each for each in found if lines[each - 1]] == [each for each in expected if lines[each - 1]]


def test_lines_are_shown_with_their_neighbours_once() -> None:
    lines = [f"line {number}" for number in range(1, 9)]
    found = [Matches("a.txt", lines, [2, 3, 7]), Matches("b.txt", ["other"], [])]
    assert render_matches(found, context=1, offset=0) == (
        "3 lines match, in 1 of 2 files.\n\na.txt\n"
        "  1: line 1\n> 2: line 2\n> 3: line 3\n  4: line 4\n  …\n  6: line 6\n> 7: line 7\n  8: line 8"
    )
    with pytest.raises(ToolFailure):
        render_matches(found, context=1, offset=3)


@given(counts=st.lists(st.integers(0, 45), min_size=1, max_size=4))
def test_page_by_page_every_match_is_shown_once(counts: list[int]) -> None:
    found = [
        Matches(f"{place}.txt", ["x"] * count, list(range(1, count + 1)))
        for place, count in enumerate(counts)
    ]
    total = sum(counts)
    seen: list[str] = []
    offset = 0
    while offset < total:
        text = render_matches(found, context=0, offset=offset)
        name = ""
        for line in text.split("\n"):
            name = line if line.endswith(".txt") else name
            if line.startswith("> "):
                seen.append(f"{name} {line}")
        offset += 20
    assert len(seen) == len(set(seen)) == total

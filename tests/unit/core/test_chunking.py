"""Texts are cut where something ends, with their lines kept; nothing is lost, and nothing takes forever."""

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.core.chunking import Chunk, Style, split_chunks

STYLES: tuple[Style, ...] = ("prose", "headed", "code", "records")


def cut(text: str, style: Style = "prose", size: int = 120, **more: dict[int, str]) -> list[Chunk]:
    return split_chunks(text, style, size_chars=size, **more)


def test_a_short_text_is_one_chunk_with_its_lines() -> None:
    assert cut("\n\nOne line.\n\nAnother.\n\n") == [Chunk("One line.\n\nAnother.", 3, 5)]
    assert cut("") == cut(" \n\t\n") == []


def test_prose_is_cut_between_paragraphs() -> None:
    paragraphs = [f"Paragraph {number} says a few words about gardens.\nIt goes on." for number in range(6)]
    chunks = cut("\n\n".join(paragraphs), size=140)
    assert [chunk.text for chunk in chunks] == ["\n\n".join(paragraphs[at : at + 2]) for at in (0, 2, 4)]
    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == [(1, 5), (7, 11), (13, 17)]


def test_sections_of_markdown_stay_apart_and_are_named_by_their_path() -> None:
    text = (
        "# Herbs\n\n"
        + "Basil likes sun. " * 5
        + "\n\n## Mint\n\n"
        + "Mint spreads. " * 5
        + "\n\n# Trees\n\nOak.\n"
    )
    chunks = cut(text, "headed", size=150)
    assert [chunk.heading for chunk in chunks] == ["Herbs", "Herbs > Mint", "Trees"]
    assert chunks[1].text.startswith("## Mint\n")


def test_what_looks_like_a_heading_in_a_fence_is_none() -> None:
    text = "# Setup\n\n```sh\n# not a heading\nmake\n```\n\nDone.\n"
    assert [chunk.heading for chunk in cut(text, "headed")] == ["Setup"]


def test_code_is_cut_between_definitions_with_their_decorators_and_comments() -> None:
    functions = [
        f"# About {name}.\n@cached\ndef {name}(x):\n    y = x\n\n    return y + 1\n" for name in "abcd"
    ]
    chunks = cut("\n\n".join(functions), "code", size=80)
    assert [chunk.text for chunk in chunks] == [each.rstrip() for each in functions]
    assert chunks[2].heading is None or chunks[2].heading.startswith("def")


def test_a_long_definition_is_cut_inside_and_says_what_it_is_in() -> None:
    body = "".join(f"    step_{number}()\n" for number in range(40))
    chunks = cut(f"class Long:\n    pass\n\n\ndef long():\n{body}", "code", size=200)
    assert len(chunks) > 2
    assert chunks[-1].heading == "def long():"


def test_chunks_that_are_cut_in_the_middle_overlap() -> None:
    lines = [f"line {number} of a long paragraph" for number in range(30)]
    chunks = cut("\n".join(lines), size=240)
    for one, next_one in pairwise(chunks):
        assert next_one.start_line == one.end_line
    assert chunks[-1].end_line == 30


def test_a_line_without_end_is_cut_after_sentences_and_keeps_its_number() -> None:
    chunks = cut("First.\n" + "A sentence of some words. " * 40, size=200)
    assert {chunk.end_line for chunk in chunks} == {2}
    assert all(chunk.text.endswith(".") for chunk in chunks)


def test_pages_are_told() -> None:
    text = "\n".join(f"Page {page} has this line.\nAnd that.\n" for page in (1, 2, 3))
    chunks = cut(text, size=50, sections={1: "Page 1", 4: "Page 2", 7: "Page 3"})
    assert [chunk.heading for chunk in chunks] == ["Page 1", "Page 2", "Page 3"]


@pytest.mark.parametrize("style", STYLES)
def test_a_large_text_takes_a_moment(style: Style) -> None:
    dice = random.Random(3)
    lines = ["    " * dice.randrange(4) + "word " * dice.randrange(30) for _ in range(5_000)]
    for text in ("\n".join(lines), "x" * 300_000, "# " * 100_000, "#" * 100_000, "\n" * 100_000):
        started = time.process_time()
        split_chunks(text, style, size_chars=1200)
        assert time.process_time() - started < 2


@given(
    st.text(alphabet=st.sampled_from("ab .\n#`@\t🙂"), max_size=400),
    st.sampled_from(STYLES),
    st.integers(20, 100),
)
def test_every_word_is_in_a_chunk_and_no_chunk_is_too_large(text: str, style: Style, size: int) -> None:
    chunks = cut(text, style, size)
    lines = text.splitlines()
    said = {number for number, line in enumerate(lines, start=1) if line.strip()}
    covered = {number for chunk in chunks for number in range(chunk.start_line, chunk.end_line + 1)}
    assert said <= covered
    assert all(len(chunk.text) <= size and chunk.text.strip() for chunk in chunks)
    letters = sum(not each.isspace() for each in text)
    assert sum(not each.isspace() for chunk in chunks for each in chunk.text) >= letters
    starts = [chunk.start_line for chunk in chunks]
    assert starts == sorted(starts)

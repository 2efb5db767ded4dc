"""Views of files, and which of them make room."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from remanence.core.open_files import (
    AgentFile,
    closed,
    make_room,
    one_after_the_other,
    opened,
    render_view,
    replaced,
    split_lines,
)
from remanence.kit.ids import FileId, FolderId

NOW = datetime(2026, 3, 14, tzinfo=UTC)


def file(name: str, used: int | None = None) -> AgentFile:
    """`used`: seconds after a moment, if it is open."""
    return AgentFile(
        id=f"file_agent-{name}",
        file_id=FileId(f"file-{name}"),
        folder_id=FolderId("source-1"),
        name=f"garden/{name}",
        is_open=used is not None,
        view="" if used is not None else None,
        last_accessed_at=NOW + timedelta(seconds=used) if used is not None else None,
    )


def names(files: list[AgentFile]) -> list[str]:
    return [each.name.removeprefix("garden/") for each in files]


def test_a_whole_file_has_all_its_lines_with_numbers() -> None:
    view = render_view("one\r\ntwo\rthree\n", 1000)
    assert view.text == "[All 3 lines.]\n1: one\n2: two\n3: three"
    assert (view.start_line, view.end_line) == (None, None)
    assert render_view("one", 1000).text == "[The only line.]\n1: one"
    assert render_view("", 1000).text == "[The file is empty.]"


def test_a_part_is_shown_as_asked_for() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 11))
    view = render_view(text, 1000, first=3, count=2)
    assert view.text == "[Lines 3 to 4 of 10.]\n3: line 3\n4: line 4"
    assert (view.start_line, view.end_line) == (3, 4)
    assert render_view(text, 1000, first=9, count=50).end_line == 10
    assert render_view(text, 1000, first=99).text == "[Lines 10 to 10 of 10.]\n10: line 10"


def test_what_does_not_fit_is_left_out_and_said_so() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 101))
    view = render_view(text, 200)
    assert view.text.startswith("[Lines 1 to ")
    assert "more does not fit into one view" in view.text
    assert view.end_line is not None
    assert view.text.endswith(f"{view.end_line}: line {view.end_line}")
    assert render_view("x" * 1000, 200).text.endswith("xxx […]")


@given(
    text=st.text(alphabet=st.sampled_from("ab \n\r\té"), max_size=400),
    limit=st.integers(0, 400),
    first=st.integers(-3, 50),
    count=st.none() | st.integers(-2, 50),
)
def test_a_view_is_never_too_long_and_shows_lines_as_they_are(
    text: str, limit: int, first: int, count: int | None
) -> None:
    view = render_view(text, limit, first=first, count=count)
    assert len(view.text) <= limit
    lines = split_lines(text)
    assert "".join(lines) == text.replace("\r", "").replace("\n", "")
    if view.start_line is not None:
        assert view.end_line is not None
        assert 1 <= view.start_line <= view.end_line <= len(lines)
    if limit < 100:
        return
    shown = view.text.split("\n")[1:]
    start = view.start_line or 1
    for number, line in enumerate(shown, start):
        whole = f"{number}: {lines[number - 1]}"
        assert line == whole or (line.endswith(" […]") and whole.startswith(line.removesuffix(" […]")))
    if view.start_line is None and lines:
        assert len(shown) == len(lines)


@given(text=st.text(alphabet=st.sampled_from("ab\n"), min_size=1, max_size=600), limit=st.integers(120, 300))
def test_a_file_can_be_read_to_its_end_view_by_view(text: str, limit: int) -> None:
    lines = split_lines(text)
    seen: list[str] = []
    first = 1
    while len(seen) < len(lines):
        view = render_view(text, limit, first=first)
        part = [line.partition(": ")[2] for line in view.text.split("\n")[1:]]
        assert part
        seen += part
        first += len(part)
        if view.text.endswith("[…]"):
            return
    assert seen == lines


def test_those_not_used_for_longest_make_room() -> None:
    files = [file("a", 3), file("b", 1), file("c"), file("d", 2)]
    assert names(make_room(files, 3)) == []
    assert names(make_room(files, 2)) == ["b"]
    assert names(make_room(files, 1, keep=["file-b"])) == ["d", "a"]
    assert names(make_room(files, 0)) == ["b", "d", "a"]


@given(
    uses=st.lists(st.none() | st.integers(0, 9), max_size=8),
    limit=st.integers(0, 8),
    kept=st.sets(st.integers(0, 7), max_size=3),
)
def test_making_room_keeps_the_limit_and_what_is_used_later(
    uses: list[int | None], limit: int, kept: set[int]
) -> None:
    files = [file(str(place), used) for place, used in enumerate(uses)]
    keep = {f"file-{place}" for place in kept}
    leaving = make_room(files, limit, keep=keep)
    rest = [each for each in replaced(files, map(closed, leaving)) if each.is_open]
    must_stay = [each for each in rest if each.file_id in keep]
    assert len(rest) <= max(limit, len(must_stay))
    assert not any(each.file_id in keep for each in leaving)
    assert len(leaving) <= max(0, sum(used is not None for used in uses) - limit)
    for gone in leaving:
        for stays in rest:
            if stays.file_id not in keep:
                assert gone.last_accessed_at is not None
                assert stays.last_accessed_at is not None
                assert gone.last_accessed_at <= stays.last_accessed_at


def test_of_files_opened_together_the_first_stays_longest() -> None:
    view = render_view("x", 100)
    files = [
        opened(file(name), view, at) for name, at in zip("abc", one_after_the_other(NOW, 3), strict=True)
    ]
    assert names(make_room(files, 1)) == ["c", "b"]

"""Days and months that a question names."""

from datetime import UTC, datetime

import pytest

from remanence.core.asked_dates import find_dates

NOW = datetime(2026, 3, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("What happened on 7 May 2023?", (2023, 5, 7)),
        ("the 3rd of October", (None, 10, 3)),
        ("What did she say on March 14, 2025?", (2025, 3, 14)),
        ("since 2025-12-01", (2025, 12, 1)),
        ("Where was he in March?", (None, 3, None)),
        ("Her plans for June 2024", (2024, 6, None)),
    ],
)
def test_a_date_is_read_in_all_its_forms(text: str, date: tuple[int | None, int, int | None]) -> None:
    (found,) = find_dates(text)
    assert (found.year, found.month, found.day) == date


@pytest.mark.parametrize("text", ["may I march on?", "99 percent", "What is 2024?", "mar 45", ""])
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert [each for each in find_dates(text) if each.span(NOW)] == []


def test_a_day_without_a_year_is_the_last_one() -> None:
    spans = [find_dates(text)[0].span(NOW) for text in ("on 1 March", "on 1 April", "on 31 June", "in May")]
    assert [span and span[0].year for span in spans] == [2026, 2025, None, None]

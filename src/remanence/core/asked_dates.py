"""The days and months that a question names: "on 14 March 2025", "March 14", "2025-03-14", "in March".

A message is also known by when it was said, though its words need not say so.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"), 1
    )
    for name in names.split()
}  # fmt: skip
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\b(?P<year>(?:19|20)\d\d)-(?P<month>[01]\d)-(?P<day>[0-3]\d)\b",
        rf"\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?\b",
        rf"\b{_MONTH} {_DAY}(?:,? {_YEAR})?\b(?! ?%)",
        rf"\b{_MONTH},? {_YEAR}\b",
        rf"\b(?:in|during|since|last|this|of) {_MONTH}\b",
    )
)


@dataclass(frozen=True, slots=True)
class AskedDate:
    month: int
    day: int | None
    year: int | None
    text: str
    """As it stands in the question."""

    def fits(self, moment: datetime) -> bool:
        return (
            moment.month == self.month and self.day in (None, moment.day) and self.year in (None, moment.year)
        )

    def span(self, now: datetime) -> tuple[datetime, datetime] | None:
        """The day that is meant, of the latest year that it can be of; None for a month, or no day at all."""
        if self.day is None:
            return None
        try:
            start = datetime(self.year or now.year, self.month, self.day, tzinfo=UTC)
            if self.year is None and start > now:
                start = start.replace(year=now.year - 1)
        except ValueError:
            return None
        return start, start + timedelta(days=1, microseconds=-1)


def find_dates(text: str) -> list[AskedDate]:
    found: list[AskedDate] = []
    for form in _FORMS:
        for match in form.finditer(text):
            named = match.groupdict()
            month = named["month"].lower()
            number = _MONTHS.get(month) or int(month) if month in _MONTHS or month.isdigit() else 0
            day, year = named.get("day"), named.get("year")
            if 1 <= number <= 12 and not any(match.group() in each.text for each in found):
                found.append(
                    AskedDate(number, int(day) if day else None, int(year) if year else None, match.group())
                )
    return found

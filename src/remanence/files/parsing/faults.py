"""Why a file cannot be read, in words for whoever uploaded it."""


class Unreadable(Exception):
    """The text says what is wrong with the file."""


class Budget:
    """How much may still come out of a file; small files can say that they are endless."""

    def __init__(self, chars: int) -> None:
        self._limit = self._left = chars

    def spend(self, chars: int) -> None:
        """Raises Unreadable once too much was said."""
        self._left -= chars
        if self._left < 0:
            raise Unreadable(
                f"Its text is longer than {self._limit:,} characters, which is the most that is read. Divide it."
            )

"""Server-sent events, from bytes as they arrive to the data of each event.

Only `data` is kept: the providers' formats say in it whatever their `event` lines say.
"""

from remanence.errors import BadReply

LONGEST_EVENT_BYTES = 64 * 2**20


class EventSplitter:
    """Feeds on chunks cut anywhere; gives the data of every event that is complete."""

    __slots__ = ("_data", "_ends_in_return", "_tail")

    def __init__(self) -> None:
        self._tail = b""
        self._data = b""
        self._ends_in_return = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Data may keep a leading space and trailing blanks; JSON does not mind."""
        if self._ends_in_return or b"\r" in chunk:
            chunk = self._unify_line_ends(chunk)
        if self._tail:
            chunk = self._tail + chunk
        lines = chunk.split(b"\n")
        self._tail = lines.pop()
        if len(self._tail) > LONGEST_EVENT_BYTES:
            raise BadReply("The provider sent a line without end")
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if not line:
                if data:
                    events.append(data)
                    data = b""
            elif line.startswith(b"data:"):
                data = data + b"\n" + line[5:] if data else line[5:]
        self._data = data
        return events

    def end(self) -> list[bytes]:
        """What is left when the stream ends; some servers forget the last blank line."""
        return self.feed(b"\n\n")

    def _unify_line_ends(self, chunk: bytes) -> bytes:
        """`\\r\\n` and `\\r` end a line like `\\n`, and a chunk may end between the two."""
        if self._ends_in_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            if not chunk:
                self._ends_in_return = False
                return chunk
        self._ends_in_return = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

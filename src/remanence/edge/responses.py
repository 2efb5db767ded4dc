"""Answers that are encoded once, straight from the values."""

from typing import Any

from starlette.responses import Response

from remanence.kit import json


class JsonBytes(Response):
    """JSON without a second validation pass: what is given has the right shape already."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.encode(content)


def message_body(text: str) -> JsonBytes:
    return JsonBytes({"message": text})

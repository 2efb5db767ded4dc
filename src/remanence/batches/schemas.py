"""Batches on the wire."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from remanence.kit.ids import id_pattern
from remanence.kit.json import JsonObject
from remanence.messages.sending import SendRequest

MAX_REQUESTS = 10_000


class BatchRequest(SendRequest):
    agent_id: Annotated[str, Field(pattern=id_pattern("agent"))]


def _check_url(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("give an address that begins with http:// or https://")
    return url


class BatchCreate(BaseModel):
    requests: Annotated[list[BatchRequest], Field(min_length=1, max_length=MAX_REQUESTS)]
    callback_url: Annotated[str, Field(min_length=1, max_length=2083), AfterValidator(_check_url)] | None = (
        None
    )


def kept_request(request: BatchRequest) -> JsonObject:
    """What is stored of it until its turn comes."""
    given = request.model_dump(mode="json", exclude_unset=True, exclude={"agent_id"})
    return given | {"streaming": False, "stream_tokens": False, "callback_url": None}

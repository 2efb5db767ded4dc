"""Images in messages: those given as links are fetched and kept, so that history does not fade."""

import base64

from remanence.core.message import Base64Image, ImagePart, UrlImage
from remanence.errors import BadArgument
from remanence.kit.addresses import Judge, is_no_metadata
from remanence.kit.outside import NotFetched, fetch
from remanence.messages.sending import InputPart, MessageCreate

_MAX_BYTES = 20 * 1024 * 1024
_TIMEOUT_S = 15


class ImageFetcher:
    def __init__(self, allows: Judge = is_no_metadata) -> None:
        """`allows` judges where links may lead."""
        self._allows = allows

    async def embed(self, inputs: list[MessageCreate]) -> list[MessageCreate]:
        """The same messages with every linked image in them. Raises BadArgument."""
        if not any(_has_link(each) for each in inputs):
            return inputs
        return [await self._embed_one(each) for each in inputs]

    async def _embed_one(self, message: MessageCreate) -> MessageCreate:
        if isinstance(message.content, str):
            return message
        parts: list[InputPart] = []
        for part in message.content:
            if isinstance(part, ImagePart) and isinstance(part.source, UrlImage):
                part = ImagePart(source=await _fetch(part.source.url, self._allows))
            parts.append(part)
        return message.model_copy(update={"content": parts})


def _has_link(message: MessageCreate) -> bool:
    return not isinstance(message.content, str) and any(
        isinstance(part, ImagePart) and isinstance(part.source, UrlImage) for part in message.content
    )


async def _fetch(url: str, allows: Judge) -> Base64Image:
    if url.startswith("data:"):
        return _from_data_url(url)
    try:
        found = await fetch(url, allows=allows, max_bytes=_MAX_BYTES, timeout_s=_TIMEOUT_S, max_redirects=0)
    except NotFetched as reason:
        raise BadArgument(f"The image could not be fetched: {reason}.") from None
    if found.status != 200:
        raise BadArgument(f"The image at {url} could not be fetched: status {found.status}.")
    if not found.media_type.startswith("image/"):
        raise BadArgument(f"What is at {url} is {found.media_type}, not an image.")
    if found.is_cut:
        raise BadArgument(f"The image at {url} is larger than {_MAX_BYTES // 2**20} MiB.")
    return Base64Image(media_type=found.media_type, data=base64.b64encode(found.data).decode())


def _from_data_url(url: str) -> Base64Image:
    head, _, data = url[5:].partition(",")
    media_type = head.removesuffix(";base64")
    if not head.endswith(";base64") or not media_type.startswith("image/"):
        raise BadArgument("A data URL of an image must look like data:image/png;base64,…")
    return Base64Image(media_type=media_type, data=data)

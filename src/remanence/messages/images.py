"""Images in messages: those given as links are fetched and kept, so that history does not fade."""

import asyncio
import base64
import ipaddress
import socket
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from remanence.core.message import Base64Image, ImagePart, UrlImage
from remanence.errors import BadArgument
from remanence.messages.sending import InputPart, MessageCreate

_MAX_BYTES = 20 * 1024 * 1024
_TIMEOUT_S = 15


class ImageFetcher:
    async def embed(self, inputs: list[MessageCreate]) -> list[MessageCreate]:
        """The same messages with every linked image in them. Raises BadArgument."""
        if not any(_has_link(each) for each in inputs):
            return inputs
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_TIMEOUT_S)) as session:
            return [await self._embed_one(session, each) for each in inputs]

    async def _embed_one(self, session: aiohttp.ClientSession, message: MessageCreate) -> MessageCreate:
        if isinstance(message.content, str):
            return message
        parts: list[InputPart] = []
        for part in message.content:
            if isinstance(part, ImagePart) and isinstance(part.source, UrlImage):
                part = ImagePart(source=await _fetch(session, part.source.url))
            parts.append(part)
        return message.model_copy(update={"content": parts})


def _has_link(message: MessageCreate) -> bool:
    return not isinstance(message.content, str) and any(
        isinstance(part, ImagePart) and isinstance(part.source, UrlImage) for part in message.content
    )


async def _fetch(session: aiohttp.ClientSession, url: str) -> Base64Image:
    if url.startswith("data:"):
        return _from_data_url(url)
    await _refuse_inner_addresses(url)
    try:
        async with session.get(url, allow_redirects=False) as response:
            if response.status != 200:
                raise BadArgument(f"The image at {url} could not be fetched: status {response.status}.")
            media_type = response.content_type
            if not media_type.startswith("image/"):
                raise BadArgument(f"What is at {url} is {media_type}, not an image.")
            data = await response.content.read(_MAX_BYTES + 1)
            while len(data) <= _MAX_BYTES and (
                more := await response.content.read(_MAX_BYTES + 1 - len(data))
            ):
                data += more
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise BadArgument(f"The image at {url} could not be fetched: {error}.") from error
    if len(data) > _MAX_BYTES:
        raise BadArgument(f"The image at {url} is larger than {_MAX_BYTES // 2**20} MiB.")
    return Base64Image(media_type=media_type, data=base64.b64encode(data).decode())


def _from_data_url(url: str) -> Base64Image:
    head, _, data = url[5:].partition(",")
    media_type = head.removesuffix(";base64")
    if not head.endswith(";base64") or not media_type.startswith("image/"):
        raise BadArgument("A data URL of an image must look like data:image/png;base64,…")
    return Base64Image(media_type=media_type, data=data)


async def _refuse_inner_addresses(url: str) -> None:
    """Cloud metadata lives on link-local addresses; a picture never does."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadArgument(f"{url} is not an http address of an image.")
        loop = asyncio.get_running_loop()
        found: list[Any] = await loop.getaddrinfo(parts.hostname, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:  # nobody of that name, or no name at all
        raise BadArgument(f"The image at {url} could not be fetched: {error}.") from error
    if any(ipaddress.ip_address(entry[4][0]).is_link_local for entry in found):
        raise BadArgument(f"Images are not fetched from {parts.hostname}.")

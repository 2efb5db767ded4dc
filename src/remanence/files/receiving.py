"""A file as it comes in: the one field of a form that matters, up to a size."""

from collections.abc import AsyncGenerator, AsyncIterator

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from remanence.errors import Invalid, TooLarge
from remanence.files.schemas import Upload

_FORM_BYTES = 1 << 16
"""What a form has around the file."""
_PATIENCE = 4
"""How many times the limit is heard out, so that whoever sends can read why it is refused."""
FORM_DOCUMENTATION = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}},
                }
            }
        },
    }
}


async def receive(request: Request, max_bytes: int) -> Upload:
    """Raises Invalid for what is no such form, and TooLarge."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise Invalid("Send the file as multipart/form-data, in the field `file`.")
    parser = MultiPartParser(
        request.headers, _bounded(request.stream(), max_bytes), max_files=1, max_fields=10
    )
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError) as error:
        raise Invalid(f"The form cannot be read: {error}.") from None
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise Invalid("The form has no field `file` that holds a file.")
        data = await file.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise _too_large(max_bytes)
        return Upload(file.filename or "", data)
    finally:
        await form.close()


async def _bounded(stream: AsyncIterator[bytes], max_bytes: int) -> AsyncGenerator[bytes]:
    held = 0
    async for chunk in stream:
        held += len(chunk)
        if held > _PATIENCE * max_bytes + _FORM_BYTES:
            raise _too_large(max_bytes)
        if held <= max_bytes + _FORM_BYTES:
            yield chunk
    if held > max_bytes + _FORM_BYTES:
        raise _too_large(max_bytes)


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(
        f"The file is larger than {max_bytes / (1 << 20):g} MB, which is the most that is taken here. Divide it, "
        "or have REMANENCE_MAX_FILE_MB raised."
    )

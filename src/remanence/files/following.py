"""How far a file has come, told as it goes."""

import asyncio
from collections.abc import AsyncIterator

from remanence.core.actor import Actor
from remanence.core.file import IN_WORK, File
from remanence.db.database import Database
from remanence.edge.sse import DONE, error_frame, frame
from remanence.errors import NotFound
from remanence.files import repository
from remanence.files.schemas import file_body

_LOOK_S = 0.2
_LONGEST_S = 1800


async def follow(db: Database, actor: Actor, file: File) -> AsyncIterator[bytes]:
    """The file as it is, and whenever that changes, until it is complete or cannot be read."""
    told: File | None = None
    for _ in range(round(_LONGEST_S / _LOOK_S)):
        if file != told:
            yield frame(file_body(file))
            told = file
        if file.status not in IN_WORK:
            break
        await asyncio.sleep(_LOOK_S)
        try:
            file = await db.read(repository.get_file, actor, file.id)
        except NotFound as error:
            yield error_frame({"detail": f"{error.code}: {error.message}"})
            break
    yield DONE

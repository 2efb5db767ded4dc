"""What becomes of an uploaded file: read, cut, and put where it is found. A job, which survives the process.

Vectors are made by the one that makes them for everything (`search/embedding.py`), so that a large file holds
up nobody's message.
"""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection

from remanence.core.actor import Actor
from remanence.core.chunking import Chunk
from remanence.core.file import File, FilePassage, Folder
from remanence.core.job import Job
from remanence.core.parts import PART_CHARS
from remanence.db.database import Database
from remanence.errors import Invalid
from remanence.files import repository
from remanence.files.formats import format_of, text_format_of
from remanence.files.parsing.faults import Unreadable
from remanence.files.parsing.reading import Parsed, ParseLimits, parse
from remanence.jobs import repository as jobs
from remanence.jobs.repository import Grip
from remanence.jobs.workers import Task
from remanence.kit.ids import new_passage_id
from remanence.kit.json import JsonObject
from remanence.search.ports import SearchIndex

KIND = "read_file"
AT_ONCE = 2
_CHARS_PER_TOKEN = 4
_BATCH = 100
"""Passages to a transaction: others have to write in between."""
_TICK = timedelta(microseconds=1)
_CANCELLED = "Reading it was cancelled. To have it read, delete it and upload it again."


def read_later(connection: Connection, actor: Actor, file: File, text: str) -> None:
    """For a file that comes as a text, whatever its name says. Wake the `Workers` afterwards."""
    repository.keep_upload(connection, file.id, text.encode())
    payload: JsonObject = {"file_id": file.id, "is_text": True}
    jobs.enqueue(connection, actor, KIND, payload, source_id=file.folder_id)


class Gone(Exception):
    """The file was deleted meanwhile."""


class FileProcessing:
    def __init__(self, db: Database, index: SearchIndex, limits: ParseLimits) -> None:
        self._db = db
        self._index = index
        self._limits = limits

    async def process(self, task: Task) -> JsonObject | None:
        """Raises Invalid for a file that cannot be read, once that is noted."""
        file_id: str = task.job.payload["file_id"]
        try:
            file, folder, data = await self._db.read(_load, task.job, file_id)
            parsed = await self._parse(task, file, folder, data)
            await self._db.write(store_parsed, task.grip, file, parsed)
            done: int = task.state.get("stored", 0)
            while done < len(parsed.chunks):
                batch = parsed.chunks[done : done + _BATCH]
                await self._db.write(store_batch, task.grip, self._index, file, folder, batch, done)
                done += len(batch)
            await self._db.write(finish_file, task.grip, file_id)
        except Gone:
            return {"file_id": file_id, "outcome": "deleted"}
        return {"file_id": file_id, "chunks": len(parsed.chunks)}

    async def _parse(self, task: Task, file: File, folder: Folder, data: bytes) -> Parsed:
        config = folder.embedding_config
        tokens = config.embedding_chunk_size if config else None
        size_chars = tokens * _CHARS_PER_TOKEN if tokens else PART_CHARS
        try:
            form = text_format_of(file.name) if task.job.payload.get("is_text") else format_of(file.name)
            return await parse(data, form, size_chars=size_chars, limits=self._limits)
        except Unreadable as error:
            await self._db.write(note_failure, task.grip, file.id, str(error))
            raise Invalid(str(error)) from None

    async def give_up(self, job: Job, reason: str) -> None:
        """When it was tried too often."""
        await self._db.write(_note_giving_up, job, reason)


def _load(connection: Connection, job: Job, file_id: str) -> tuple[File, Folder, bytes]:
    file = repository.find_file(connection, job.actor, file_id)
    data = repository.load_upload(connection, file_id)
    if file is None or data is None:
        raise Gone
    return file, repository.get_folder(connection, job.actor, file.folder_id), data


def store_parsed(connection: Connection, grip: Grip, file: File, parsed: Parsed) -> None:
    jobs.hold(connection, grip)
    there = repository.set_progress(
        connection, file.id, status="embedding", error_message=None, total_chunks=len(parsed.chunks)
    )
    if not there:
        raise Gone
    repository.begin_count(connection, file.id)
    repository.store_text(connection, file.id, parsed.text)
    repository.touch_holders(connection, file.folder_id)


def store_batch(
    connection: Connection,
    grip: Grip,
    index: SearchIndex,
    file: File,
    folder: Folder,
    chunks: Sequence[Chunk],
    first: int,
) -> None:
    if repository.find_file(connection, grip.job.actor, file.id) is None:
        raise Gone
    passages = [make_passage(file, folder, chunk, first + place) for place, chunk in enumerate(chunks)]
    repository.insert_passages(connection, index, passages)
    jobs.save(connection, grip, state={"stored": first + len(chunks)})


def finish_file(connection: Connection, grip: Grip, file_id: str) -> None:
    jobs.hold(connection, grip)
    repository.drop_upload(connection, file_id)
    repository.complete_unless_waiting(connection, file_id)


def note_failure(connection: Connection, grip: Grip, file_id: str, reason: str) -> None:
    jobs.hold(connection, grip)
    repository.set_progress(connection, file_id, status="error", error_message=reason)
    repository.drop_upload(connection, file_id)


def note_cancelled(connection: Connection, job: Job) -> None:
    _note_giving_up(connection, job, _CANCELLED)


def _note_giving_up(connection: Connection, job: Job, reason: str) -> None:
    """Unless it has been read, or is known to be unreadable: then the bytes are gone."""
    file_id: str = job.payload["file_id"]
    if repository.drop_upload(connection, file_id):
        unread = {"status": "error", "total_chunks": None, "chunks_embedded": None}
        repository.set_progress(connection, file_id, **unread, error_message=reason)


def make_passage(file: File, folder: Folder, chunk: Chunk, place: int) -> FilePassage:
    metadata: JsonObject = {"start_line": chunk.start_line, "end_line": chunk.end_line}
    if chunk.heading:
        metadata["heading"] = chunk.heading
    moment = file.created_at + place * _TICK  # so that lists have them in their order
    return FilePassage(
        id=new_passage_id(),
        organization_id=file.organization_id,
        folder_id=file.folder_id,
        file_id=file.id,
        file_name=file.name,
        text=chunk.text,
        metadata=metadata,
        embedding_config=folder.embedding_config,
        created_at=moment,
        updated_at=moment,
        created_by_id=file.created_by_id,
        last_updated_by_id=file.created_by_id,
    )

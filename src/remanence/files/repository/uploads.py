"""SQL for files on their way: their bytes, and what has come of them."""

from sqlalchemy import Connection, delete, exists, func, insert, select, update

from remanence.db.tables import EmbeddingBacklogRow, FileRow, FileUploadRow, SourcePassageRow
from remanence.kit.clock import utc_now


def keep_upload(connection: Connection, file_id: str, data: bytes) -> None:
    connection.execute(insert(FileUploadRow).values(file_id=file_id, data=data))


def load_upload(connection: Connection, file_id: str) -> bytes | None:
    return connection.scalar(select(FileUploadRow.data).where(FileUploadRow.file_id == file_id))


def drop_upload(connection: Connection, file_id: str) -> bool:
    """Whether it was there."""
    return connection.execute(delete(FileUploadRow).where(FileUploadRow.file_id == file_id)).rowcount > 0


def complete_unless_waiting(connection: Connection, file_id: str) -> None:
    """A file none of whose passages waits for vectors is complete: it has them, or this server makes none."""
    uuid = func.substr(SourcePassageRow.id, len("passage-") + 1)
    waits = exists().where(
        SourcePassageRow.file_id == file_id, EmbeddingBacklogRow.document_id == "chunk-" + uuid
    )
    connection.execute(
        update(FileRow)
        .where(FileRow.id == file_id, FileRow.processing_status == "embedding", ~waits)
        .values(processing_status="completed", chunks_embedded=FileRow.total_chunks, updated_at=utc_now())
    )

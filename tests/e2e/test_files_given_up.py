"""Files that nobody reads any more, and files whose embedding model stays silent: each says so, and none waits."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, update
from tests.support.folders import await_file, passages, search_files, stored, upload
from tests.support.talks import Talk
from tests.support.waiting import until_sync

from remanence.core.file import File
from remanence.core.job import Job
from remanence.db.tables import FileRow
from remanence.files import repository
from remanence.files.processing import KIND
from remanence.jobs import repository as jobs
from remanence.kit.clock import utc_now
from remanence.kit.ids import FolderId, new_file_id
from remanence.search.embedding import embed_anew

GATE = b"The gate is green.\nThe key hangs on the nail.\n"


@pytest.fixture
def folder(talk: Talk) -> Any:
    return talk.sdk.folders.create(name="garden")


def wait_in_line(connection: Connection, talk: Talk, folder_id: str) -> Job:
    """A file as an upload leaves it, whose turn comes in an hour."""
    now = utc_now()
    file = File(
        id=new_file_id(),
        organization_id=talk.tenant.actor.organization_id,
        folder_id=FolderId(folder_id),
        name="gate.txt",
        original_name="gate.txt",
        status="parsing",
        created_at=now,
        updated_at=now,
    )
    repository.insert_file(connection, file)
    repository.keep_upload(connection, file.id, GATE)
    payload = {"file_id": file.id}
    due_at = now + timedelta(hours=1)
    return jobs.enqueue(connection, talk.tenant.actor, KIND, payload, due_at=due_at, source_id=folder_id)


@pytest.mark.promise("folders.files.cancelled")
@pytest.mark.parametrize(("method", "path"), [("PATCH", "/v1/jobs/{}/cancel"), ("DELETE", "/v1/jobs/{}")])
def test_a_file_whose_job_is_ended_says_so(talk: Talk, folder: Any, method: str, path: str) -> None:
    job = talk.tenant.house.write(wait_in_line, talk, folder.id)
    file_id: str = job.payload["file_id"]
    assert talk.sdk.folders.files.retrieve(file_id, folder_id=folder.id).processing_status == "parsing"
    talk.ask(method, path.format(job.id))
    file = talk.sdk.folders.files.retrieve(file_id, folder_id=folder.id)
    assert file.processing_status == "error"
    assert "cancelled" in (file.error_message or "")
    assert talk.tenant.house.read(repository.load_upload, file_id) is None
    talk.sdk.folders.files.delete(file_id, folder_id=folder.id)
    assert stored(talk.sdk, folder.id, "gate.txt", GATE).content == GATE.decode()


@pytest.mark.promise("folders.files.cancelled")
def test_a_file_that_has_been_read_does_not_mind_what_becomes_of_its_job(talk: Talk, folder: Any) -> None:
    file = stored(talk.sdk, folder.id, "gate.txt", GATE)
    (job,) = talk.get("/v1/jobs/", source_id=folder.id)
    until_sync(lambda: talk.get(f"/v1/jobs/{job['id']}")["status"] == "completed")
    talk.ask("DELETE", f"/v1/jobs/{job['id']}")
    again = talk.sdk.folders.files.retrieve(file.id, folder_id=folder.id)
    assert (again.processing_status, again.error_message) == ("completed", None)


def ask_again_after(connection: Connection, file_id: str, folder_id: str, silence: timedelta) -> None:
    """As if the last news of a file were so old, and its passages were due."""
    connection.execute(update(FileRow).where(FileRow.id == file_id).values(updated_at=utc_now() - silence))
    embed_anew(connection, folder_id)


@pytest.mark.promise("folders.files.silence")
@pytest.mark.parametrize("is_given_another", [False, True])
def test_a_file_whose_model_stays_silent_says_so_until_a_model_answers(
    talk: Talk, is_given_another: bool
) -> None:
    ours = talk.sdk.folders.create(name="attic")
    folder = talk.sdk.folders.create(name="garden", embedding="openai/text-embedding-3-small")
    talk.model.embedding_status = 400
    try:
        file = upload(talk.sdk, folder.id, "gate.txt", GATE)

        def seen() -> Any:
            return talk.sdk.folders.files.retrieve(file.id, folder_id=folder.id)

        def asked_again_after(minutes: int) -> None:
            asked = len(talk.model.embedded)
            silence = timedelta(minutes=minutes)
            talk.tenant.house.write(ask_again_after, file.id, folder.id, silence)
            until_sync(lambda: len(talk.model.embedded) > asked)

        until_sync(
            lambda: seen().processing_status == "embedding" and len(passages(talk.http, folder.id)) == 1
        )
        asked_again_after(29)
        asked_again_after(29)  # the answer to the one before has been noted
        assert seen().processing_status == "embedding"
        asked_again_after(31)
        silent = await_file(talk.sdk, folder.id, file.id)
        assert silent.processing_status == "error"
        assert "openai/text-embedding-3-small" in silent.error_message
        assert (silent.content, silent.total_chunks, silent.chunks_embedded) == (GATE.decode(), 1, 0)
        if is_given_another:
            config = ours.embedding_config.model_dump()
            talk.ask("PATCH", f"/v1/folders/{folder.id}", json={"embedding_config": config})
        else:
            talk.model.embedding_status = 200
            talk.tenant.house.write(embed_anew, folder.id)
        until_sync(lambda: seen().processing_status == "completed")
        assert (seen().error_message, seen().chunks_embedded) == (None, 1)
        assert passages(talk.http, folder.id)[0]["embedding"]
    finally:
        talk.model.embedding_status = 200


@pytest.mark.promise("folders.files.silence")
def test_words_of_a_file_are_found_while_its_model_is_silent(talk: Talk) -> None:
    folder = talk.sdk.folders.create(name="garden", embedding="openai/text-embedding-3-small")
    talk.model.embedding_status = 400
    try:
        file = upload(talk.sdk, folder.id, "gate.txt", GATE)
        until_sync(lambda: len(passages(talk.http, folder.id)) == 1)
        talk.tenant.house.write(ask_again_after, file.id, folder.id, timedelta(hours=1))
        assert await_file(talk.sdk, folder.id, file.id).processing_status == "error"
        agent = talk.agent(folder_ids=[folder.id])
        assert "The gate is green." in search_files(talk, agent, "green gate")
    finally:
        talk.model.embedding_status = 200

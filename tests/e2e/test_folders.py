"""Folders as clients see them: made, read, changed, listed, counted and deleted, under both of their names."""

from pathlib import Path

import letta_client
import pytest
from tests.support.databases import Databases
from tests.support.folders import passages, stored
from tests.support.server import RunningServer
from tests.support.talks import Talk


@pytest.mark.promise("folders.crud")
def test_a_folder_is_made_read_changed_listed_counted_and_deleted(talk: Talk) -> None:
    made = talk.sdk.folders.create(name="garden", description="papers", metadata={"n": 1})
    assert (made.name, made.description, made.metadata) == ("garden", "papers", {"n": 1})
    assert made.id.startswith("source-")
    assert made.embedding_config.handle == "local/wordllama-256"
    talk.sdk.folders.create(name="attic", embedding="local/wordllama-256", embedding_chunk_size=100)
    assert talk.sdk.folders.retrieve(made.id).name == "garden"
    assert [each.name for each in talk.sdk.folders.list()] == ["garden", "attic"]
    assert [each.id for each in talk.sdk.folders.list(name="garden")] == [made.id]
    changed = talk.sdk.folders.update(made.id, name="meadow", instructions="Read with care.")
    assert (changed.name, changed.description) == ("meadow", "papers")
    assert changed.instructions == "Read with care."
    assert talk.get("/v1/folders/count") == 2
    assert talk.get("/v1/folders/name/meadow") == made.id
    assert list(talk.sdk.folders.agents.list(made.id)) == []
    talk.sdk.folders.delete(made.id)
    with pytest.raises(letta_client.NotFoundError):
        talk.sdk.folders.retrieve(made.id)
    assert talk.get("/v1/folders/count") == 1
    assert talk.get("/v1/folders/metadata") == {
        "total_sources": 1,
        "total_files": 0,
        "total_size": 0,
        "sources": [],
    }


@pytest.mark.promise("folders.sources")
def test_the_older_routes_are_the_same_under_another_name(talk: Talk) -> None:
    made = talk.ask("POST", "/v1/sources/", json={"name": "garden"})
    assert made["vector_db_provider"] == "native"
    assert "vector_db_provider" not in talk.get(f"/v1/folders/{made['id']}")
    for number in range(60):
        talk.sdk.folders.create(name=f"folder {number}")
    assert len(talk.get("/v1/sources/")) == 61
    assert len(talk.get("/v1/folders/")) == 50
    assert talk.ask("PATCH", f"/v1/sources/{made['id']}", json={"name": "meadow"})["name"] == "meadow"
    assert talk.get("/v1/sources/name/meadow") == made["id"]
    assert talk.get(f"/v1/sources/{made['id']}/files") == talk.get(f"/v1/sources/{made['id']}/agents") == []
    assert talk.ask("DELETE", f"/v1/sources/{made['id']}") is None


@pytest.mark.promise("folders.errors")
def test_what_no_folder_can_be_is_refused_and_changes_nothing(talk: Talk) -> None:
    made = talk.sdk.folders.create(name="garden")
    other = talk.sdk.folders.create(name="attic")
    nowhere = made.id.replace(made.id[-6:], "000000")
    with pytest.raises(letta_client.ConflictError):
        talk.sdk.folders.create(name="garden")
    with pytest.raises(letta_client.ConflictError):
        talk.sdk.folders.update(other.id, name="garden")
    with pytest.raises(letta_client.BadRequestError):
        talk.sdk.folders.create(name="new", embedding="no/such")
    for body in ({}, {"name": ""}, {"name": "x" * 256}, {"name": "x", "embedding_chunk_size": 1}):
        assert talk.http.post("/v1/folders/", json=body).status_code == 422, body
    for path in ("", "/agents", "/files", "/passages", f"/files/{nowhere.replace('source', 'file')}"):
        assert talk.http.get(f"/v1/folders/{nowhere}{path}").status_code == 404, path
    assert talk.http.get("/v1/folders/name/nothing").status_code == 404
    assert talk.http.get("/v1/folders/source-x").status_code == 422
    assert [each.name for each in talk.sdk.folders.list()] == ["garden", "attic"]


@pytest.mark.promise("folders.words")
def test_a_server_that_embeds_nothing_has_folders_that_are_searched_by_words(
    databases: Databases, tmp_path: Path
) -> None:
    server = RunningServer(databases.fresh(), tmp_path, default_embedding="off").start()
    try:
        sdk = server.client()
        with pytest.raises(letta_client.BadRequestError, match="embedding_chunk_size"):
            sdk.folders.create(name="garden", embedding_chunk_size=100)
        plain = sdk.folders.create(name="garden")
        chosen = sdk.folders.create(name="attic", embedding="local/wordllama-256", embedding_chunk_size=100)
        assert plain.embedding_config is None
        assert chosen.embedding_config.embedding_chunk_size == 100
        for folder in (plain, chosen):
            assert stored(sdk, folder.id, "gate.txt", b"The gate is green.").chunks_embedded == 1
            (passage,) = passages(sdk._client, folder.id)  # pyright: ignore[reportPrivateUsage] the plain client within
            assert bool(passage["embedding"]) == (folder is chosen)
    finally:
        server.stop()

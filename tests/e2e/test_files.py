"""Files as clients see them: uploaded, read, cut, embedded, listed, followed and deleted."""

from typing import Any

import letta_client
import pytest
from tests.support import documents
from tests.support.folders import await_file, passages, stored, upload
from tests.support.talks import Talk
from tests.support.wire import read_frames

GATE = b"The gate is green.\nThe key hangs on the nail.\n"


@pytest.fixture
def folder(talk: Talk) -> Any:
    return talk.sdk.folders.create(name="garden")


@pytest.mark.promise("folders.files.upload", "folders.files")
def test_an_upload_answers_at_once_and_the_file_is_read_soon(talk: Talk, folder: Any) -> None:
    new = upload(talk.sdk, folder.id, "gate.txt", GATE)
    assert (new.file_name, new.original_file_name) == ("garden/gate.txt", "gate.txt")
    assert (new.processing_status, new.file_type, new.file_size) == ("parsing", "text/plain", len(GATE))
    assert (new.total_chunks, new.chunks_embedded, new.content) == (None, None, None)
    file = await_file(talk.sdk, folder.id, new.id)
    assert (file.file_name, file.processing_status) == ("gate.txt", "completed")
    assert (file.total_chunks, file.chunks_embedded, file.content) == (1, 1, GATE.decode())
    listed = talk.sdk.folders.files.list(folder.id)
    assert [(each.id, each.file_name, each.content) for each in listed] == [(new.id, "gate.txt", None)]
    with_text = talk.sdk.folders.files.list(folder.id, include_content=True)
    assert [each.content for each in with_text] == [GATE.decode()]
    told = talk.get("/v1/folders/metadata", include_detailed_per_source_metadata=True)
    assert (told["total_files"], told["total_size"]) == (1, len(GATE))
    assert told["sources"][0]["files"][0]["file_name"] == "gate.txt"


@pytest.mark.promise("folders.files.duplicates")
def test_a_name_that_is_there_is_numbered_skipped_refused_or_replaced(talk: Talk, folder: Any) -> None:
    first = upload(talk.sdk, folder.id, "gate.txt", GATE)
    second = upload(talk.sdk, folder.id, "gate.txt", b"Another gate.\n")
    assert (second.file_name, second.original_file_name) == ("garden/gate_(1).txt", "gate.txt")
    path = f"/v1/folders/{folder.id}/upload"

    def again(**query: str) -> Any:
        return talk.http.post(path, params=query, files={"file": ("gate.txt", b"A third.\n")})

    skipped = again(duplicate_handling="skip")
    assert (skipped.json()["id"], skipped.headers["x-upload-result"]) == (second.id, "skipped")
    refused = again(duplicate_handling="error")
    assert refused.status_code == 400
    assert "duplicate_handling" in refused.json()["detail"]
    replaced = again(duplicate_handling="replace").json()
    assert replaced["file_name"] == "garden/gate_(1).txt"
    assert "x-upload-result" not in again(name="other").headers
    names = {each.file_name: each.id for each in talk.sdk.folders.files.list(folder.id)}
    assert names.keys() == {"gate.txt", "gate_(1).txt", "other.txt"}
    assert (names["gate.txt"], names["gate_(1).txt"]) == (first.id, replaced["id"])
    with pytest.raises(letta_client.NotFoundError):
        talk.sdk.folders.files.retrieve(second.id, folder_id=folder.id)


@pytest.mark.promise("folders.files.refused")
def test_what_cannot_be_taken_is_refused_with_what_can_and_nothing_is_kept(talk: Talk, folder: Any) -> None:
    path = f"/v1/folders/{folder.id}/upload"
    unknown = talk.http.post(path, files={"file": ("gate.exe", b"MZ")})
    assert unknown.status_code == 415
    assert "docx" in unknown.json()["detail"]
    large = talk.http.post(path, files={"file": ("large.txt", b"x" * (31 << 20))})
    assert large.status_code == 413
    assert "30 MB" in large.json()["detail"]
    odd_forms: list[dict[str, Any]] = [
        {"json": {}},
        {"data": {"file": "no file"}},
        {"files": {"other": ("a.txt", b"x")}},
        {"content": b"--b--", "headers": {"content-type": "multipart/form-data; boundary=b"}},
        {"content": b"", "headers": {"content-type": "multipart/form-data"}},
    ]
    for request in odd_forms:
        assert talk.http.post(path, **request).status_code == 422, request
    for name in ("..", "/", "x" * 300 + ".txt"):
        assert talk.http.post(path, files={"file": (name, b"x")}).status_code in (400, 415), name
    odd = talk.http.post(path, params={"duplicate_handling": "odd"}, files={"file": ("a.txt", b"x")})
    assert odd.status_code == 422
    nowhere = path.replace(folder.id[-6:], "000000")
    assert talk.http.post(nowhere, files={"file": ("a.txt", b"x")}).status_code == 404
    assert list(talk.sdk.folders.files.list(folder.id)) == []


@pytest.mark.promise("folders.files.kinds", "folders.files.passages")
def test_files_of_every_kind_are_read_cut_and_found(talk: Talk, folder: Any) -> None:
    code = "import os\n\n\n" + "".join(
        f'def plant_{name}(bed):\n    """Plants {name}."""\n    return bed + \'{name}\' * 40\n\n\n'
        for name in ("basil", "mint", "sage", "thyme", "dill", "chive") * 4
    )
    files = {
        "notes.md": b"# Herbs\n\nBasil likes sun.\n\n# Animals\n\nThe puppy sleeps under the apple tree.\n",
        "garden.py": code.encode(),
        "page.html": b"<head><title>Weather</title></head><p>It rains in <b>April</b>.</p>",
        "plan.docx": documents.docx("# Plan", "The wall is painted in spring."),
        "costs.xlsx": documents.xlsx({"Costs": [["paint", 12.5]]}),
        "talk.pptx": documents.pptx(["Greetings from the orchard"]),
        "letter.odt": documents.odt("Letter", "Dear neighbour, the fence is yours."),
        "book.pdf": documents.pdf([f"Chapter {number}. Bees fly at noon." for number in range(1, 4)]),
        "empty.txt": b"",
    }
    new = {name: upload(talk.sdk, folder.id, name, data) for name, data in files.items()}
    done = {name: await_file(talk.sdk, folder.id, file.id) for name, file in new.items()}
    assert {name: file.error_message for name, file in done.items() if file.error_message} == {}
    assert {file.processing_status for file in done.values()} == {"completed"}
    assert (done["empty.txt"].content, done["empty.txt"].total_chunks) == ("", 0)
    found = passages(talk.http, folder.id)
    assert len(found) == sum(file.total_chunks for file in done.values())
    assert all(len(each["embedding"]) == 256 for each in found)
    parts = [each for each in found if each["file_name"] == "garden.py"]
    assert len(parts) > 1
    lines = code.splitlines()
    for part in parts:
        about = part["metadata"]
        assert part["text"].splitlines()[0] == lines[about["start_line"] - 1]
        assert part["text"].splitlines()[-1] == lines[about["end_line"] - 1]
        assert part["text"].startswith(("import", "def"))
    assert [each["metadata"]["heading"] for each in found if each["file_name"] == "book.pdf"] == ["Page 1"]


@pytest.mark.promise("folders.files.unreadable")
def test_a_file_that_cannot_be_read_says_why_and_the_next_one_is_read(talk: Talk, folder: Any) -> None:
    broken = upload(talk.sdk, folder.id, "broken.pdf", b"%PDF-1.7 and then nothing")
    file = await_file(talk.sdk, folder.id, broken.id)
    assert (file.processing_status, file.error_message) == ("error", "It is no PDF, or a damaged one.")
    assert (file.content, file.total_chunks) == (None, None)
    assert stored(talk.sdk, folder.id, "gate.txt", GATE).content == GATE.decode()


@pytest.mark.promise("folders.files.events")
def test_how_far_a_file_has_come_is_told_as_it_goes(talk: Talk, folder: Any) -> None:
    text = "\n\n".join(
        f"Paragraph {number} tells of the garden and of the gate." * 20 for number in range(300)
    )
    new = upload(talk.sdk, folder.id, "long.txt", text.encode())
    path = f"/v1/folders/{folder.id}/files/{new.id}/events"
    frames = read_frames(talk.http.get(path, timeout=60).content)
    assert frames[-1].data == "[DONE]"
    told = [frame.fields for frame in frames[:-1]]
    assert told[0]["processing_status"] in ("parsing", "embedding", "completed")
    assert told[-1]["processing_status"] == "completed"
    assert told[-1]["chunks_embedded"] == told[-1]["total_chunks"] >= 300
    counts = [each["chunks_embedded"] or 0 for each in told]
    assert counts == sorted(counts)
    again = read_frames(talk.http.get(path).content)
    assert [frame["processing_status"] for frame in again[:-1]] == ["completed"]


@pytest.mark.promise("folders.files.delete")
def test_what_is_deleted_is_gone_with_its_passages(talk: Talk, folder: Any) -> None:
    one = stored(talk.sdk, folder.id, "gate.txt", GATE)
    stored(talk.sdk, folder.id, "wall.txt", b"The wall is white.")
    other = talk.sdk.folders.create(name="attic")
    with pytest.raises(letta_client.NotFoundError):
        talk.sdk.folders.files.retrieve(one.id, folder_id=other.id)
    with pytest.raises(letta_client.NotFoundError):
        talk.sdk.folders.files.delete(one.id, folder_id=other.id)
    talk.sdk.folders.files.delete(one.id, folder_id=folder.id)
    assert [each.file_name for each in talk.sdk.folders.files.list(folder.id)] == ["wall.txt"]
    assert [each["text"] for each in passages(talk.http, folder.id)] == ["The wall is white."]
    talk.sdk.folders.delete(folder.id)
    assert talk.get("/v1/folders/metadata")["total_files"] == 0


@pytest.mark.promise("folders.files.upload")
def test_a_folder_that_is_given_another_model_is_embedded_anew(talk: Talk, folder: Any) -> None:
    file = stored(talk.sdk, folder.id, "gate.txt", GATE)
    config = folder.embedding_config.model_dump() | {"embedding_chunk_size": 100}
    changed = talk.ask("PATCH", f"/v1/folders/{folder.id}", json={"embedding_config": config})
    assert changed["embedding_config"]["embedding_chunk_size"] == 100
    assert await_file(talk.sdk, folder.id, file.id).chunks_embedded == 1
    assert passages(talk.http, folder.id)[0]["embedding_config"]["embedding_chunk_size"] == 100


@pytest.mark.promise("folders.files.size")
def test_the_room_that_vectors_take_is_told(talk: Talk, folder: Any) -> None:
    def size(unit: str) -> float:
        return talk.ask("GET", "/v1/embeddings/total_storage_size", headers={"storage-unit": unit})

    assert size("B") == talk.get("/v1/embeddings/total_storage_size") == 0
    stored(talk.sdk, folder.id, "gate.txt", GATE)
    assert size("B") >= 256
    assert size("KB") == size("B") / 1024
    assert (
        talk.http.get("/v1/embeddings/total_storage_size", headers={"storage-unit": "barrels"}).status_code
        == 400
    )

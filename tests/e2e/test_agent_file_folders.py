"""Folders in agent files: an agent that was moved has the same files, and sees of them what it saw."""

from typing import Any

import pytest
from tests.support.folders import await_file, passages, stored
from tests.support.talks import Talk

from remanence.kit import json
from remanence.kit.json import JsonObject

GATE = b"The gate is green.\nThe key hangs on the nail.\n"


def export(talk: Talk, agent_id: str) -> JsonObject:
    return talk.get(f"/v1/agents/{agent_id}/export")


def take_in(talk: Talk, file: JsonObject) -> Any:
    return talk.http.post("/v1/agents/import", files={"file": ("agent.af", json.encode(file))})


def shown(talk: Talk, agent_id: str) -> list[tuple[Any, ...]]:
    """What the agent has of its files, without what is new at each import."""
    files = talk.get(f"/v1/agents/{agent_id}/files")["files"]
    return sorted(
        (each["file_name"].rpartition("/")[2], each["is_open"], each["visible_content"], each["start_line"])
        for each in files
    )


@pytest.mark.promise("agents.files.folders", "agents.files.same")
def test_folders_and_what_was_open_of_them_come_along(talk: Talk) -> None:
    folder = talk.sdk.folders.create(name="garden", description="papers", instructions="Read with care.")
    for name, text in (("gate.txt", GATE), ("notes.md", b"# Herbs\n\nBasil likes sun.\n")):
        stored(talk.sdk, folder.id, name, text)
    agent = talk.agent()
    talk.sdk.agents.folders.attach(folder.id, agent_id=agent["id"])
    closed = next(each for each in talk.sdk.folders.files.list(folder.id) if each.file_name == "notes.md")
    talk.sdk.agents.files.close(closed.id, agent_id=agent["id"])
    file = export(talk, agent["id"])
    assert [(each["id"], each["name"]) for each in file["sources"]] == [("source-0", "garden")]
    assert next((each["file_name"], each["content"]) for each in file["files"]) == (
        "garden/gate.txt",
        GATE.decode(),
    )
    (copy,) = take_in(talk, file).json()["agent_ids"]
    (moved,) = talk.get(f"/v1/agents/{copy}/folders")
    assert moved["id"] != folder.id
    assert moved["name"].startswith("garden_")
    assert (moved["description"], moved["instructions"]) == ("papers", "Read with care.")
    assert shown(talk, copy) == shown(talk, agent["id"])
    assert any(is_open for _, is_open, _, _ in shown(talk, copy))
    for each in talk.sdk.folders.files.list(moved["id"]):
        done = await_file(talk.sdk, moved["id"], each.id)
        assert (done.processing_status, done.total_chunks) == ("completed", 1)
    texts = [sorted(each["text"] for each in passages(talk.http, id)) for id in (folder.id, moved["id"])]
    assert texts[0] == texts[1]
    again = export(talk, copy)
    for one in (file, again):
        for each in (*one["sources"], *one["files"], *(one["agents"][0]["files_agents"])):
            for name in ("name", "file_name", "last_accessed_at"):
                each.pop(name, None)
    assert again["sources"] == file["sources"]
    assert again["files"] == file["files"]
    assert again["agents"][0]["files_agents"] == file["agents"][0]["files_agents"]


@pytest.mark.promise("agents.files.refused")
def test_a_file_with_folders_that_cannot_be_is_refused_as_a_whole(talk: Talk) -> None:
    agent = talk.agent()
    file = export(talk, agent["id"])
    lost = file | {"files": [{"id": "file-0", "source_id": "source-9", "content": "x"}]}
    assert take_in(talk, lost).status_code == 400
    named: JsonObject = {"sources": [{"id": "source-0", "name": "garden"}]}
    long = {"id": "file-0", "source_id": "source-0", "file_name": "x" * 300, "content": "x"}
    assert take_in(talk, file | named | {"files": [long]}).status_code == 400
    assert take_in(talk, file | {"sources": [{"id": "source-0", "name": ""}]}).status_code == 400
    assert list(talk.sdk.folders.list()) == []
    mute = {"id": "file-0", "source_id": "source-0", "file_name": "garden/scan.pdf"}
    assert take_in(talk, file | named | {"files": [mute]}).status_code == 200
    (folder,) = talk.sdk.folders.list()
    (kept,) = talk.sdk.folders.files.list(folder.id)
    assert (kept.file_name, kept.processing_status) == ("scan.pdf", "error")

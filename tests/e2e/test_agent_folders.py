"""Folders attached to agents and the files in them, opened and closed by clients."""

from typing import Any

import letta_client
import pytest
from tests.support.shelves import Shelved, attach, files_of, open_names
from tests.support.talks import SDK_MARK, Talk

FILE_TOOLS = {"open_files", "grep_files", "semantic_search_files"}


def tools_of(talk: Talk, agent_id: str) -> set[str]:
    return {tool["name"] for tool in talk.tenant.state(agent_id)["tools"]}


def refusal(talk: Talk, method: str, path: str, **given: Any) -> int:
    return talk.http.request(method, path, **given).status_code


@pytest.mark.promise("agent-files.attach")
def test_a_folder_is_attached_with_its_files_open_and_its_tools(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="The gate is green.\nThe key hangs on the nail.")
    empty = Shelved.make(talk, "attic")
    agent = talk.agent()
    assert talk.sdk.agents.folders.attach(folder.id, agent_id=agent["id"]) is None
    assert [each.id for each in talk.sdk.agents.folders.list(agent["id"])] == [folder.id]
    assert tools_of(talk, agent["id"]) >= FILE_TOOLS
    (file,) = talk.sdk.agents.files.list(agent["id"])
    assert (file.file_name, file.folder_name, file.folder_id) == ("garden/gate.txt", "garden", folder.id)
    assert file.id.startswith("file_agent-")
    assert (file.is_open, file.start_line, file.end_line) == (True, None, None)
    assert file.visible_content is not None
    assert file.visible_content.splitlines()[1:] == ["1: The gate is green.", "2: The key hangs on the nail."]
    attach(talk, agent, folder)
    attach(talk, agent, empty)
    assert [each.name for each in talk.sdk.agents.folders.list(agent["id"], order="asc")] == [
        "garden",
        "attic",
    ]
    assert list(talk.sdk.folders.agents.list(folder.id)) == [agent["id"]]
    talk.sdk.agents.folders.detach(folder.id, agent_id=agent["id"])
    assert files_of(talk, agent) == {}
    assert tools_of(talk, agent["id"]) >= FILE_TOOLS
    talk.sdk.agents.folders.detach(empty.id, agent_id=agent["id"])
    assert not tools_of(talk, agent["id"]) & FILE_TOOLS


@pytest.mark.promise("agent-files.older-clients")
def test_older_clients_get_the_agent_back(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="Green.")
    path = f"/v1/agents/{talk.agent()['id']}"
    state = talk.ask("PATCH", f"{path}/folders/attach/{folder.id}")
    assert [each["name"] for each in state["sources"]] == ["garden"]
    assert state["sources"][0]["vector_db_provider"] == "native"
    assert talk.ask("PATCH", f"{path}/folders/detach/{folder.id}")["sources"] == []
    for headers in ({}, SDK_MARK):
        state = talk.ask("PATCH", f"{path}/sources/attach/{folder.id}", headers=headers)
        assert [each["id"] for each in state["sources"]] == [folder.id]
        assert [each["id"] for each in talk.get(f"{path}/sources")] == [folder.id]
        assert talk.ask("PATCH", f"{path}/sources/detach/{folder.id}", headers=headers)["sources"] == []


@pytest.mark.promise("agents.state.sources", "agent-files.create")
def test_an_agent_is_made_and_changed_with_folders(talk: Talk) -> None:
    garden, attic = Shelved.make(talk, gate="Green."), Shelved.make(talk, "attic", box="Dusty.")
    made = talk.sdk.agents.create(model="openai/gpt-4o-mini", folder_ids=[garden.id], source_ids=[attic.id])
    assert sorted(each.name for each in made.sources) == ["attic", "garden"]
    assert {tool.name for tool in made.tools} >= FILE_TOOLS
    assert open_names(talk, {"id": made.id}) == ["attic/box.txt", "garden/gate.txt"]
    assert talk.sdk.agents.retrieve(made.id).sources == []
    shown = talk.sdk.agents.retrieve(made.id, include=["agent.sources"])
    assert sorted(each.name for each in shown.sources) == ["attic", "garden"]
    changed = talk.sdk.agents.update(made.id, folder_ids=[attic.id])
    assert [each.name for each in changed.sources] == ["attic"]
    assert "garden/gate.txt" not in talk.tenant.system_text(made.id)
    assert "attic/box.txt" in talk.tenant.system_text(made.id)
    assert talk.sdk.agents.update(made.id, folder_ids=[]).sources == []
    assert not tools_of(talk, made.id) & FILE_TOOLS
    bare = talk.sdk.agents.create(
        model="openai/gpt-4o-mini", folder_ids=[garden.id], include_base_tools=False
    )
    assert {tool.name for tool in bare.tools} == FILE_TOOLS


@pytest.mark.promise("agent-files.errors")
def test_what_cannot_be_attached_or_opened_is_refused_and_changes_nothing(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="Green.")
    late = folder.put("late.pdf", None, "parsing")
    broken = folder.put("broken.pdf", None, "error")
    agent = talk.agent()
    attach(talk, agent, folder)
    before = talk.tenant.state(agent["id"])
    nowhere = folder.id[:-6] + "000000"
    path = f"/v1/agents/{agent['id']}"

    with pytest.raises(letta_client.NotFoundError):
        talk.sdk.agents.folders.attach(nowhere, agent_id=agent["id"])
    assert refusal(talk, "PATCH", f"{path}/folders/detach/{nowhere}") == 404
    assert refusal(talk, "PATCH", f"{path}/folders/attach/nonsense") == 422
    assert (
        refusal(talk, "POST", "/v1/agents/", json={"folder_ids": [nowhere], "model": agent["model"]}) == 404
    )
    assert refusal(talk, "PATCH", path, json={"folder_ids": [folder.id, nowhere]}) == 404
    assert refusal(talk, "PATCH", f"{path}/files/file-{nowhere[7:]}/open") == 404
    assert refusal(talk, "PATCH", f"{path}/files/file-{nowhere[7:]}/close") == 404
    late_answer = talk.http.patch(f"{path}/files/{late}/open")
    assert (late_answer.status_code, "being read" in late_answer.text) == (409, True)
    assert refusal(talk, "PATCH", f"{path}/files/{broken}/open") == 409
    assert refusal(talk, "GET", f"{path}/files?after={folder.id}") == 404
    assert talk.tenant.state(agent["id"]) == before


@pytest.mark.promise("agent-files.open")
def test_files_are_opened_closed_and_make_room_for_others(talk: Talk) -> None:
    folder = Shelved.make(talk, a="A", b="B", c="C")
    agent = talk.agent(max_files_open=2)
    attach(talk, agent, folder)
    assert open_names(talk, agent) == ["garden/a.txt", "garden/b.txt"]
    ids = {name[7]: each.file_id for name, each in files_of(talk, agent).items()}
    files = talk.sdk.agents.files
    assert files.open(ids["c"], agent_id=agent["id"]) == ["garden/b.txt"]
    assert files.open(ids["a"], agent_id=agent["id"]) == []
    assert files.open(ids["b"], agent_id=agent["id"]) == ["garden/c.txt"]
    assert "message" in talk.ask("PATCH", f"/v1/agents/{agent['id']}/files/{ids['a']}/close")
    assert files.close(ids["a"], agent_id=agent["id"]) is not None
    assert open_names(talk, agent) == ["garden/b.txt"]
    assert files.close_all(agent["id"]) == ["garden/b.txt"]
    assert files.close_all(agent["id"]) == []
    closed = files_of(talk, agent)["garden/b.txt"]
    assert (closed.is_open, closed.visible_content) == (False, None)


@pytest.mark.promise("agent-files.limits")
def test_changed_limits_hold_for_what_is_open(talk: Talk) -> None:
    folder = Shelved.make(talk, a="A\n" * 500, b="B", c="C")
    agent = talk.agent(max_files_open=3, per_file_view_window_char_limit=1000)
    attach(talk, agent, folder)
    long = files_of(talk, agent)["garden/a.txt"]
    assert (len(long.visible_content) <= 1000, long.start_line, long.end_line < 500) == (True, 1, True)
    talk.sdk.agents.update(agent["id"], max_files_open=1, per_file_view_window_char_limit=200)
    (only,) = [each for each in files_of(talk, agent).values() if each.is_open]
    assert only.file_name == "garden/a.txt"
    assert len(only.visible_content) <= 200
    talk.sdk.agents.update(agent["id"], max_files_open=0)
    refused = talk.http.patch(f"/v1/agents/{agent['id']}/files/{only.file_id}/open")
    assert (refused.status_code, "max_files_open" in refused.text) == (400, True)


@pytest.mark.promise("agent-files.list")
def test_the_files_of_an_agent_are_listed_page_by_page(talk: Talk) -> None:
    folder = Shelved.make(talk)
    ids = [folder.put(f"{number}.txt", "x") for number in range(5)]
    agent = talk.agent(max_files_open=2)
    attach(talk, agent, folder)
    assert len(list(talk.sdk.agents.files.list(agent["id"], limit=2))) == 5
    path = f"/v1/agents/{agent['id']}/files"
    first = talk.get(path, limit=2, order="asc")
    assert (len(first["files"]), first["has_more"], first["next_cursor"]) == (
        2,
        True,
        first["files"][1]["id"],
    )
    rest = talk.get(path, limit=3, order="asc", cursor=first["next_cursor"])
    assert (len(rest["files"]), rest["has_more"]) == (3, False)
    back = talk.get(path, limit=2, order="asc", before=rest["files"][1]["id"])
    assert [each["id"] for each in back["files"]] == [first["files"][1]["id"], rest["files"][0]["id"]]
    assert back["has_more"]
    assert {each["file_id"] for each in first["files"] + rest["files"]} == set(ids)
    by_file = talk.get(path, order="asc", after=first["files"][1]["file_id"])
    assert by_file["files"] == rest["files"]
    assert len(talk.get(path, is_open=True)["files"]) == 2
    assert len(talk.get(path, is_open=False)["files"]) == 3


@pytest.mark.promise("agent-files.follow")
def test_what_becomes_of_a_folder_becomes_of_its_agents(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="Green.")
    agent = talk.agent(folder_ids=[folder.id])
    new = folder.put("new.txt", "New.")
    assert set(files_of(talk, agent)) == {"garden/gate.txt", "garden/new.txt"}
    assert open_names(talk, agent) == ["garden/gate.txt"]
    talk.sdk.folders.update(folder.id, name="meadow")
    assert set(files_of(talk, agent)) == {"meadow/gate.txt", "meadow/new.txt"}
    talk.sdk.folders.files.delete(new, folder_id=folder.id)
    assert set(files_of(talk, agent)) == {"meadow/gate.txt"}
    talk.sdk.folders.delete(folder.id)
    assert files_of(talk, agent) == {}
    assert not tools_of(talk, agent["id"]) & FILE_TOOLS


@pytest.mark.promise("agent-files.limits")
def test_attaching_fills_no_more_than_half_of_the_window(talk: Talk) -> None:
    folder = Shelved.make(talk, a="word " * 800, b="word " * 800, c="word " * 800, d="word " * 800)
    agent = talk.agent(context_window_limit=6000)
    attach(talk, agent, folder)
    assert open_names(talk, agent) == ["garden/a.txt", "garden/b.txt"]

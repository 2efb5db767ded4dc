"""Files in the context: how a model sees them, opens them by itself, and learns what others opened."""

from functools import partial
from typing import Any

import pytest
from tests.e2e.test_memory_notes import shares
from tests.support.chats import Chat
from tests.support.filling import SUMMARY, filled, full
from tests.support.model_wire import SeenRequest
from tests.support.script import Gate, calls, says
from tests.support.shelves import Shelved, attach, files_of, open_names
from tests.support.talks import Talk
from tests.support.waiting import until_sync

from remanence.kit import json
from remanence.kit.json import JsonObject

NOTE = "folders or files were changed by somebody else"
LONG = "\n".join(f"Line {number} of a long file about figs." for number in range(1, 401))


def opens(*names: str, **options: Any) -> Any:
    return calls("open_files", file_requests=[{"file_name": name} for name in names], **options)


def notes(request: SeenRequest) -> list[str]:
    texts = [str(message.get("content")) for message in request.messages[1:]]
    return [json.decode(text)["message"] for text in texts if NOTE in text]


def returned(answer: JsonObject) -> str:
    found = [each for each in answer["messages"] if each["message_type"] == "tool_return_message"]
    return found[-1]["tool_return"]


def failed(answer: JsonObject) -> str:
    found = [each for each in answer["messages"] if each["message_type"] == "tool_return_message"]
    assert found[-1]["status"] == "error", found[-1]
    return found[-1]["tool_return"]


def set_open(talk: Talk, agent: JsonObject, name: str, *, is_open: bool) -> None:
    file_id = files_of(talk, agent)[name].file_id
    do = talk.sdk.agents.files.open if is_open else talk.sdk.agents.files.close
    do(file_id, agent_id=agent["id"])


@pytest.mark.promise("open-files.prompt")
def test_the_system_message_shows_folders_and_what_is_open(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="The gate is green.\nThe key hangs.", shed="The shed is red.")
    talk.sdk.folders.update(folder.id, description="Papers", instructions="Trust them.")
    agent = talk.agent(folder_ids=[folder.id], max_files_open=1)
    talk.say(agent, "Hi", says("Hello!"))
    system = talk.model.last.system
    section = system[system.index("<directories>") : system.index("</directories>")]
    assert "- current_files_open=1\n- max_files_open=1\n" in section
    assert '<directory name="garden">\n<description>\nPapers\n</description>\n' in section
    assert "<instructions>\nTrust them.\n</instructions>" in section
    assert '<file status="open" name="garden/gate.txt">\n[All 2 lines.]\n1: The gate is green.\n' in section
    assert '<file status="closed" name="garden/shed.txt"/>' in section
    assert (
        system.index("</memory_blocks>") < system.index("<directories>") < system.index("<memory_metadata>")
    )
    body = talk.get(f"/v1/agents/{agent['id']}/context")
    assert body["directories"].startswith("<directories>")
    parts = [value for key, value in body.items() if key.startswith("num_tokens_")]
    assert sum(parts) == body["context_window_size_current"]
    assert body["num_tokens_directories"] > 30


@pytest.mark.promise("open-files.tool")
def test_an_agent_opens_files_and_sees_them_from_then_on(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="The gate is green.", shed="The shed is red.", long=LONG)
    agent = talk.agent(max_files_open=2, folder_ids=[folder.id])
    talk.sdk.agents.files.close_all(agent["id"])
    answer = talk.say(agent, "Which colour?", opens("garden/gate.txt", "shed.txt"), says("Green and red."))
    assert "1: The gate is green." in returned(answer)
    assert "1: The shed is red." in returned(answer)
    assert open_names(talk, agent) == ["garden/gate.txt", "garden/shed.txt"]
    part = calls("open_files", file_requests=[{"file_name": "garden/long.txt", "offset": 100, "length": 2}])
    answer = talk.say(agent, "Line 101?", part, says("Figs."))
    assert "[Lines 101 to 102 of 400.]\n101: Line 101 of" in returned(answer)
    assert "Closed, to make room: garden/shed.txt." in returned(answer)
    long = files_of(talk, agent)["garden/long.txt"]
    assert (long.start_line, long.end_line) == (101, 102)
    only = opens("garden/shed.txt", close_all_others=True)
    assert "Closed: garden/gate.txt, garden/long.txt." in returned(
        talk.say(agent, "Shed?", only, says("Red."))
    )
    assert open_names(talk, agent) == ["garden/shed.txt"]
    assert notes(talk.model.last) == []
    talk.ask("POST", f"/v1/agents/{agent['id']}/recompile")
    talk.say(agent, "Still?", says("Yes."))
    assert "1: The shed is red." in talk.model.last.system
    assert '<file status="closed" name="garden/gate.txt"/>' in talk.model.last.system


@pytest.mark.promise("open-files.tool")
def test_calls_of_one_step_see_what_the_others_opened(talk: Talk) -> None:
    folder = Shelved.make(talk, a="A", b="B", c="C")
    agent = talk.agent(max_files_open=2, folder_ids=[folder.id], parallel_tool_calls=True)
    both = opens("garden/c.txt") + opens("garden/b.txt")
    talk.say(agent, "Both", both, says("Done."))
    assert open_names(talk, agent) == ["garden/b.txt", "garden/c.txt"]


@pytest.mark.promise("open-files.failures")
def test_what_cannot_be_opened_is_a_return_that_says_why(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="The gate is green.")
    folder.put("late.pdf", None, "parsing")
    folder.put("broken.pdf", None, "error")
    agent = talk.agent(max_files_open=1)
    attach(talk, agent, folder)
    talk.sdk.agents.files.close_all(agent["id"])
    answer = talk.say(agent, "Open", opens("garden/gates.txt"), says("No."))
    assert "Did you mean garden/gate.txt" in failed(answer)
    assert "still being read" in failed(talk.say(agent, "Open", opens("late.pdf"), says("No.")))
    assert "could not be read" in failed(talk.say(agent, "Open", opens("broken.pdf"), says("No.")))
    two = opens("garden/gate.txt", "late.pdf")
    assert "1 files open at once" in failed(talk.say(agent, "Open", two, says("No.")))
    assert open_names(talk, agent) == []
    talk.sdk.agents.folders.detach(folder.id, agent_id=agent["id"])
    talk.sdk.agents.tools.attach(talk.tenant.tool_id("open_files"), agent_id=agent["id"])
    assert "no files in your folders" in failed(talk.say(agent, "Open", opens("x"), says("No.")))


@pytest.mark.promise("open-files.notes")
def test_what_others_open_and_close_is_told_behind_the_history(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="The gate is green.", shed="The shed is red.")
    agent = talk.agent(folder_ids=[folder.id])
    talk.sdk.agents.files.close_all(agent["id"])
    talk.say(agent, "Hi", says("Hello!"))
    assert notes(talk.model.last) == []
    system = talk.model.last.system
    set_open(talk, agent, "garden/gate.txt", is_open=True)
    overview = talk.get(f"/v1/agents/{agent['id']}/context")
    parts = [value for key, value in overview.items() if key.startswith("num_tokens_")]
    assert sum(parts) == overview["context_window_size_current"]
    talk.say(agent, "Which colour?", says("Green."))
    assert (
        '<file status="open" name="garden/gate.txt">\n[The only line.]\n1: The gate'
        in notes(talk.model.last)[0]
    )
    talk.say(agent, "Sure?", says("Yes."))
    assert len(notes(talk.model.last)) == 1
    set_open(talk, agent, "garden/gate.txt", is_open=False)
    set_open(talk, agent, "garden/shed.txt", is_open=True)
    set_open(talk, agent, "garden/shed.txt", is_open=False)
    folder.put("new.txt", "New.")
    talk.say(agent, "And now?", says("Well."))
    told = notes(talk.model.last)[-1]
    assert "garden/gate.txt: closed now." in told
    assert "garden/new.txt: new, and closed." in told
    assert "shed" not in told
    gone = files_of(talk, agent)["garden/new.txt"].file_id
    talk.sdk.folders.files.delete(gone, folder_id=folder.id)
    talk.say(agent, "And now?", says("Gone."))
    assert "garden/new.txt: you have it no longer." in notes(talk.model.last)[-1]
    assert talk.model.last.system == system


@pytest.mark.promise("open-files.notes")
def test_what_one_conversation_opens_is_told_in_the_others(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="The gate is green.")
    agent = talk.agent(folder_ids=[folder.id])
    talk.sdk.agents.files.close_all(agent["id"])
    one, two = Chat.begin(talk, agent), Chat.begin(talk, agent)
    two.say("Hi", says("Hello!"))
    one.say("Colour?", opens("garden/gate.txt"), says("Green."))
    one.say("Sure?", says("Yes."))
    assert notes(talk.model.last) == []
    two.say("Colour?", says("Green."))
    assert "1: The gate is green." in notes(talk.model.last)[0]


@pytest.mark.promise("window.prefix")
def test_files_are_opened_and_closed_and_the_prompt_read_before_stays(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="The gate is green.", long=LONG)
    agent = talk.agent(folder_ids=[folder.id])
    talk.say(agent, "Hi", says("Hello!"))
    for turn in range(4):
        set_open(talk, agent, "garden/long.txt", is_open=bool(turn % 2))
        talk.say(agent, f"This is turn {turn}.", says(f"It is turn {turn}."))
        talk.say(agent, "Open it", opens("garden/gate.txt"), says("Opened."))
        folder.put(f"{turn}.txt", "New.")
    talk.sdk.folders.update(folder.id, instructions="Look twice.")
    talk.say(agent, "And now?", says("Twice."))
    assert "Look twice." in notes(talk.model.last)[-1]
    assert min(shares(talk.model.journal)) == 1.0


@pytest.mark.promise("open-files.notes")
def test_a_first_folder_is_compiled_into_every_history(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="The gate is green.")
    agent = talk.agent()
    chat = Chat.begin(talk, agent)
    talk.say(agent, "Hi", says("Hello!"))
    chat.say("Hi", says("Hello!"))
    attach(talk, agent, folder)
    for say in (partial(talk.say, agent), chat.say):
        say("Colour?", says("Green."))
        assert "1: The gate is green." in talk.model.last.system
        assert notes(talk.model.last) == []
    talk.sdk.agents.folders.detach(folder.id, agent_id=agent["id"])
    for say in (partial(talk.say, agent), chat.say):
        say("Colour?", says("I do not know."))
        assert "<directories>" not in talk.model.last.system
        assert notes(talk.model.last) == []


@pytest.mark.promise("open-files.survive")
def test_open_files_stay_in_view_when_the_history_is_summed_up(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="The gate is green.")
    agent = filled(talk, folder_ids=[folder.id])
    talk.sdk.agents.files.close_all(agent["id"])
    talk.say(agent, "Colour?", opens("garden/gate.txt"), full("Green."), SUMMARY)
    talk.say(agent, "Sure?", says("Yes."))
    assert "1: The gate is green." in talk.model.last.system


@pytest.mark.promise("open-files.grep")
def test_lines_are_found_by_a_pattern_page_by_page(talk: Talk) -> None:
    folder = Shelved.make(
        talk, gate="The gate is green.\nThe key hangs on the nail.\nNobody knows.", long=LONG
    )
    folder.put("late.pdf", None, "embedding")
    agent = talk.agent(folder_ids=[folder.id])
    answer = talk.say(agent, "Key?", calls("grep_files", pattern=r"KEY|key\b"), says("Nail."))
    assert returned(answer).split("\n\n")[1] == (
        "garden/gate.txt\n  1: The gate is green.\n> 2: The key hangs on the nail.\n  3: Nobody knows."
    )
    assert "garden/late.pdf is still being read" in returned(answer)
    figs = {"pattern": "figs", "include": "*long*", "context_lines": 0}
    answer = talk.say(agent, "Figs?", calls("grep_files", **figs, offset=380), says("Many."))
    assert "400 lines match, in 1 of 1 files. These are 381 to 400." in returned(answer)
    assert returned(answer).endswith("> 400: Line 400 of a long file about figs.")
    assert "offset=20" in returned(talk.say(agent, "Figs?", calls("grep_files", **figs), says("Many.")))
    nothing = calls("grep_files", pattern="unicorn")
    assert "No line matches" in returned(talk.say(agent, "Unicorn?", nothing, says("None.")))
    bad = talk.say(agent, "Bad", calls("grep_files", pattern="(a"), says("Oh."))
    assert "missing )" in failed(bad)
    other = calls("grep_files", pattern="a", include="*.py")
    assert "no file" in failed(talk.say(agent, "Other", other, says("Oh."))).lower()


@pytest.mark.promise("open-files.grep")
def test_a_hostile_pattern_costs_no_more_than_any_other(talk: Talk) -> None:
    folder = Shelved.make(talk, gate="a" * 200_000 + "!")
    agent = talk.agent(folder_ids=[folder.id])
    answer = talk.say(agent, "Go", calls("grep_files", pattern="(a+)+$"), says("Nothing."))
    assert "No line matches" in returned(answer)


@pytest.mark.promise("open-files.together")
def test_files_opened_by_others_while_the_model_thinks_count_and_are_told(talk: Talk) -> None:
    folder = Shelved.make(talk, a="A", b="B", c="C")
    agent = talk.agent(max_files_open=2, folder_ids=[folder.id])
    talk.sdk.agents.files.close_all(agent["id"])
    talk.say(agent, "Hi", says("Hello!"))
    gate = Gate()
    talk.model.script(opens("garden/c.txt").held(gate), says("Opened."))
    with talk.open_stream(agent, "Open c") as response:
        gate.reached.wait_sync()
        set_open(talk, agent, "garden/a.txt", is_open=True)
        set_open(talk, agent, "garden/b.txt", is_open=True)
        gate.open()
        response.read()
    assert open_names(talk, agent) == ["garden/b.txt", "garden/c.txt"]
    told = str(talk.model.last.messages[-2:]) + str(notes(talk.model.last))
    assert "Closed, to make room: garden/a.txt" in told
    talk.say(agent, "And now?", says("b and c."))
    assert any("1: B" in note for note in notes(talk.model.last))


@pytest.mark.promise("open-files.together")
def test_a_file_that_goes_while_the_model_thinks_is_an_error_return(talk: Talk) -> None:
    folder = Shelved.make(talk, a="A", b="B")
    agent = talk.agent(folder_ids=[folder.id])
    talk.say(agent, "Hi", says("Hello!"))
    gate = Gate()
    talk.model.script(opens("garden/a.txt").held(gate), says("It is gone."))
    with talk.open_stream(agent, "Open a") as response:
        gate.reached.wait_sync()
        talk.sdk.folders.files.delete(files_of(talk, agent)["garden/a.txt"].file_id, folder_id=folder.id)
        gate.open()
        response.read()
    assert set(files_of(talk, agent)) == {"garden/b.txt"}
    assert "Nothing was opened. garden/a.txt was deleted." in str(talk.model.last.messages)


@pytest.mark.promise("open-files.together")
def test_another_server_sees_what_was_opened_at_this_one(talk: Talk) -> None:
    folder = Shelved.make(talk, a="A is here.")
    agent = talk.agent(folder_ids=[folder.id])
    talk.sdk.agents.files.close_all(agent["id"])
    with talk.tenant.elsewhere() as other:
        path = f"/v1/agents/{agent['id']}/messages"
        for text in ("Hi", "Hi again"):
            talk.model.script(says("Hello!"))
            assert other.post(path, json={"input": text}).status_code == 200
        set_open(talk, agent, "garden/a.txt", is_open=True)
        talk.model.script(says("A."))
        assert other.post(path, json={"input": "What?"}).status_code == 200
        assert "1: A is here." in notes(talk.model.last)[0]


@pytest.mark.promise("open-files.together")
def test_a_cancelled_step_opens_nothing(talk: Talk) -> None:
    folder = Shelved.make(talk, a="A")
    agent = talk.agent(folder_ids=[folder.id])
    talk.sdk.agents.files.close_all(agent["id"])
    gate = Gate()
    talk.model.script(opens("garden/a.txt").held(gate))
    with talk.open_stream(agent, "Open a") as response:
        gate.reached.wait_sync()
        talk.ask("POST", f"/v1/agents/{agent['id']}/messages/cancel")
        gate.open()
        response.read()
    assert open_names(talk, agent) == []


@pytest.mark.promise("open-files.tool")
def test_a_person_runs_the_tools_for_files_too(talk: Talk) -> None:
    folder = Shelved.make(talk, a="A is here.")
    agent = talk.agent(folder_ids=[folder.id])
    talk.sdk.agents.files.close_all(agent["id"])
    talk.say(agent, "Hi", says("Hello!"))
    path = f"/v1/agents/{agent['id']}/tools/open_files/run"
    answer = talk.ask("POST", path, json={"args": {"file_requests": [{"file_name": "a.txt"}]}})
    assert (answer["status"], "1: A is here." in answer["func_return"]) == ("success", True)
    assert open_names(talk, agent) == ["garden/a.txt"]
    talk.say(agent, "What?", says("A."))
    assert "1: A is here." in notes(talk.model.last)[0]


@pytest.mark.promise("open-files.failures")
def test_an_open_file_too_large_for_the_window_is_named_and_can_be_closed(talk: Talk) -> None:
    folder = Shelved.make(talk, large="word " * 20_000)
    agent = talk.agent(context_window_limit=8000, per_file_view_window_char_limit=100_000)
    attach(talk, agent, folder)
    assert open_names(talk, agent) == []
    set_open(talk, agent, "garden/large.txt", is_open=True)
    refused = talk.http.post(f"/v1/agents/{agent['id']}/messages", json={"input": "Hi"})
    assert (refused.status_code, "the open file 'garden/large.txt'" in refused.text) == (400, True)
    talk.sdk.agents.files.close_all(agent["id"])
    talk.say(agent, "Hi", says("Hello!"))


@pytest.mark.promise("open-files.search")
def test_an_uploaded_file_is_found_by_its_meaning_and_by_whoever_has_its_folder(talk: Talk) -> None:
    garden, attic = talk.sdk.folders.create(name="garden"), talk.sdk.folders.create(name="attic")
    agent = talk.agent(folder_ids=[garden.id])
    texts = {
        garden.id: b"# Gate\n\nThe gate is painted green.",
        attic.id: b"The gate of the attic is closed.",
    }
    for folder_id, text in texts.items():
        file = talk.sdk.folders.files.upload(folder_id, file=("notes.md", text))
        path = f"/v1/folders/{folder_id}/files/{file.id}"
        until_sync(lambda path=path: talk.get(path)["processing_status"] == "completed", timeout_s=30)
    search = calls("semantic_search_files", query="colour of the gate")
    answer = talk.say(agent, "Colour?", search, says("Green."))
    assert "garden/notes.md, lines 1 to 3\n" in returned(answer)
    assert "painted green" in returned(answer)
    assert "attic" not in returned(answer)
    nothing = calls("semantic_search_files", query=" ")
    assert "query" in failed(talk.say(agent, "Nothing", nothing, says("Oh.")))

"""Folders and files in the web interface: filled, read, given to agents, opened and closed."""

import re
from typing import Any

from playwright.sync_api import FilePayload, expect
from tests.support.browsing import Screen
from tests.support.shelves import Shelved, attach, files_of, open_names
from tests.support.talks import Talk
from tests.ui.test_screens import picture


def payload(name: str, text: str) -> FilePayload:
    return FilePayload(name=name, mimeType="text/plain", buffer=text.encode())


def test_a_folder_is_made_filled_and_given_to_an_agent(talk: Talk, screen: Screen) -> None:
    agent = talk.agent(name="Hearth")
    page = screen.open("/files")
    expect(page.get_by_text("No folders yet")).to_be_visible()
    screen.check_access()
    page.get_by_role("button", name="New folder").first.click()
    page.get_by_label("Name").fill("garden")
    page.get_by_role("button", name="Make the folder").click()
    expect(page.get_by_role("heading", name="garden")).to_be_visible()
    page.get_by_label("Files to upload").set_input_files(payload("gate.md", "# Gate\n\nThe gate is green."))
    row = page.get_by_role("row", name=re.compile("gate.md"))
    expect(row.get_by_text("read", exact=True)).to_be_visible(timeout=30_000)
    page.get_by_label("How to use it").fill("Read with care.")
    page.get_by_label("How to use it").blur()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.get_by_label("Agent", exact=True).select_option("Hearth")
    page.get_by_role("button", name="Attach").click()
    expect(page.get_by_role("heading", name="Read by 1 agent")).to_be_visible()
    screen.check_access()
    picture(page, screen, "folder")
    assert open_names(talk, agent) == ["garden/gate.md"]
    row.get_by_role("button", name="Delete").click()
    row.get_by_role("button", name="Delete it?").click()
    expect(row).to_have_count(0)
    assert files_of(talk, agent) == {}


def test_a_file_is_dropped_onto_its_folder(talk: Talk, screen: Screen) -> None:
    folder = talk.sdk.folders.create(name="garden")
    page = screen.open(f"/files/{folder.id}")
    given: Any = page.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['Green.'], 'gate.txt')); return data; }"
    )
    page.locator(".dropzone").dispatch_event("drop", {"dataTransfer": given})
    row = page.get_by_role("row", name=re.compile("gate.txt"))
    expect(row.get_by_text("read", exact=True)).to_be_visible(timeout=30_000)


def test_an_agent_s_folders_and_files_are_seen_to_in_the_workbench(talk: Talk, screen: Screen) -> None:
    Shelved.make(talk, gate="The gate is green.", shed="Red.")
    agent = talk.agent(name="Hearth", max_files_open=1)
    page = screen.open(f"/agents/{agent['id']}")
    settings = page.get_by_role("group", name="Settings")
    settings.locator("summary", has_text="Files").click()
    settings.get_by_label("Folder", exact=True).select_option("garden")
    settings.get_by_role("button", name="Attach", exact=True).click()
    expect(settings.get_by_role("button", name="Close garden/gate.txt")).to_be_visible()
    settings.get_by_role("button", name="Open garden/shed.txt").click()
    expect(settings.get_by_role("button", name="Close garden/shed.txt")).to_be_visible()
    expect(settings.get_by_role("button", name="Open garden/gate.txt")).to_be_visible()
    assert open_names(talk, agent) == ["garden/shed.txt"]
    screen.check_access()
    picture(page, screen, "workbench-files")
    settings.get_by_role("button", name="Detach garden").click()
    expect(settings.get_by_text("No folders.")).to_be_visible()
    assert files_of(talk, agent) == {}


def test_the_list_of_folders(talk: Talk, screen: Screen) -> None:
    folder = Shelved.make(talk, gate="The gate is green.", shed="Red.")
    folder.put("late.pdf", None, "parsing")
    talk.sdk.folders.update(folder.id, description="Plans and bills of the garden")
    attach(talk, talk.agent(), folder)
    page = screen.open("/files")
    row = page.get_by_role("row", name=re.compile("garden"))
    expect(row).to_contain_text("3 files, 1 being read")
    expect(row).to_contain_text("1 agent")
    screen.check_access()
    picture(page, screen, "files")
    row.click()
    expect(page.get_by_role("row", name=re.compile("late.pdf"))).to_contain_text("being read")

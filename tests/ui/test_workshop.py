"""What agents are made of: tools and MCP servers, providers and models."""

import re
import sys

from playwright.sync_api import Page, expect
from tests.e2e.test_probe import able
from tests.support import mcp_tiny
from tests.support.browsing import Screen
from tests.support.talks import Talk

_PASTE = """(node, text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  node.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


def write(page: Page, code: str) -> None:
    editor = page.get_by_role("textbox", name="Source code")
    editor.click()
    page.keyboard.press("Control+a")
    editor.evaluate(_PASTE, code)


def test_a_tool_is_written_tried_and_saved(talk: Talk, screen: Screen) -> None:
    screen.allowed.append("400")
    talk.agent(name="Hearth", secrets={"GREETING": "Good day"})
    page = screen.open("/tools")
    page.get_by_role("button", name="Write a tool").click()
    write(page, "def greet(name: str, times: int = 1) -> str:\n    broken")
    expect(page.locator(".status [role=alert]")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Save"))).to_be_disabled()
    write(
        page,
        'import os\n\ndef greet(name: str, times: int = 1) -> str:\n    """Greet somebody.\n\n    Args:\n'
        '        name: Whom.\n        times: How often.\n    """\n    print("said")\n'
        "    return f\"{os.environ['GREETING']}, {name}! \" * times",
    )
    expect(page.get_by_text("Parses, schema is up to date")).to_be_visible()
    expect(page.get_by_role("group", name="Schema")).to_contain_text("How often.")
    page.get_by_label("name", exact=True).fill("Eve")
    page.get_by_label("times", exact=True).fill("2")
    page.get_by_label("Run as").select_option(label="Hearth")
    page.get_by_role("button", name="Run", exact=True).click()
    result = page.locator(".trialresult")
    expect(result).to_contain_text("Good day, Eve! Good day, Eve!")
    expect(result).to_contain_text("said")
    screen.check_access()
    page.keyboard.press("Control+s")
    expect(page.get_by_text("greet is saved.")).to_be_visible()
    expect(page.get_by_role("region", name="Yours")).to_contain_text("greet")
    (tool,) = talk.get("/v1/tools/", name="greet")
    assert set(tool["json_schema"]["parameters"]["properties"]) >= {"name", "times"}
    page.get_by_role("tab", name=re.compile("Used by")).click()
    page.get_by_label("Agent", exact=True).select_option(label="Hearth")
    page.get_by_role("button", name="Attach").click()
    expect(page.get_by_role("tabpanel").get_by_role("link", name="Hearth")).to_be_visible()
    page.get_by_role("tab", name="Settings").click()
    page.get_by_role("switch", name="Ask before it runs").click()
    page.get_by_role("button", name=re.compile("^Save")).click()
    expect(page.get_by_role("region", name="Yours")).to_contain_text("asks first")


def test_built_in_tools_can_be_read_and_not_changed(talk: Talk, screen: Screen) -> None:
    page = screen.open("/tools")
    page.get_by_label("Find a tool").fill("memory_repl")
    page.get_by_role("link", name="memory_replace", exact=True).click()
    expect(page.get_by_text("built in", exact=True)).to_be_visible()
    expect(page.get_by_role("group", name="Schema")).to_contain_text("old_string")
    expect(page.get_by_role("button", name=re.compile("^Save"))).to_have_count(0)
    expect(page.get_by_text("Sandbox:")).to_be_visible()


def test_an_mcp_server_is_added_connected_synced_and_its_tools_attached(talk: Talk, screen: Screen) -> None:
    agent = talk.agent(name="Hearth")
    page = screen.open("/tools")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("menuitem", name="Add an MCP server").click()
    page.get_by_label("Name").fill("tiny")
    page.get_by_role("button", name="Program here").click()
    page.get_by_label("Command", exact=True).fill(f"{sys.executable} -S {mcp_tiny.__file__}")
    page.get_by_role("button", name="Add the server").click()
    expect(page.get_by_role("heading", name="tiny")).to_be_visible(timeout=20_000)  # a program is started
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_text("Connected.")).to_be_visible(timeout=20_000)
    page.get_by_role("button", name="Sync").click()
    expect(page.get_by_text("Synced:")).to_be_visible(timeout=20_000)
    expect(page.get_by_role("heading", name="4 tools")).to_be_visible()
    screen.check_access()
    page.get_by_label("Tool", exact=True).select_option(label="add")
    page.get_by_label("Agent", exact=True).select_option(label="Hearth")
    page.get_by_role("button", name="Attach").click()
    expect(page.get_by_text("add attached to Hearth.")).to_be_visible()
    assert "add" in [each["name"] for each in talk.get(f"/v1/agents/{agent['id']}/tools", limit=50)]
    page.get_by_role("region", name="MCP: tiny").get_by_role("link", name="add", exact=True).click()
    page.get_by_label("a", exact=True).fill("2")
    page.get_by_label("b", exact=True).fill("40")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".trialresult")).to_contain_text("42")


def test_an_mcp_server_that_cannot_be_reached_says_why(talk: Talk, screen: Screen) -> None:
    screen.allowed += ["400", "502", "503"]
    config = {"mcp_server_type": "streamable_http", "server_url": "http://127.0.0.1:9/mcp"}
    made = talk.ask("POST", "/v1/mcp-servers/", json={"server_name": "gone", "config": config})
    page = screen.open(f"/tools/mcp/{made['id']}")
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_role("alert")).to_contain_text("It cannot be reached.")


def test_a_provider_is_added_checked_and_deleted(talk: Talk, screen: Screen) -> None:
    page = screen.open("/models")
    expect(page.get_by_role("row", name=re.compile("OpenAI")).first).to_contain_text(
        "the server’s environment"
    )
    page.get_by_role("button", name="Add a provider").click()
    page.get_by_label("Name").fill("mine")
    page.get_by_label("Key").fill("sk-secret")
    page.get_by_label("Address").fill(talk.model.base_url)
    page.get_by_role("button", name="Check first").click()
    expect(page.get_by_text("It works.")).to_be_visible()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("mine is added.")).to_be_visible()
    row = page.get_by_role("row", name=re.compile("mine")).first
    expect(row).to_contain_text("added here, encrypted")
    assert "sk-secret" not in page.content()
    row.get_by_role("button", name="Check").click()
    expect(row).to_contain_text("works, checked")
    expect(page.get_by_text("mine/gpt-4o-mini")).to_be_visible()
    screen.check_access()
    row.get_by_role("button", name="More for mine").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_text("mine is deleted.")).to_be_visible()
    assert talk.get("/v1/providers/") == []


def test_a_model_is_probed_and_what_it_can_do_is_kept(talk: Talk, screen: Screen) -> None:
    talk.model.responder = able
    try:
        page = screen.open("/models")
        page.get_by_label("Filter models").fill("gpt-4o-mini")
        row = page.get_by_role("row", name="openai/gpt-4o-mini")
        expect(row).to_contain_text("$0.15 / $0.60")
        expect(row.locator(".cell.q")).to_have_count(7)
        row.get_by_role("button", name="Probe").click()
        expect(row.locator(".cell.y")).to_have_count(7)
        page.reload()
        expect(page.get_by_role("row", name="openai/gpt-4o-mini").locator(".cell.y")).to_have_count(7)
    finally:
        talk.model.forget()
    screen.check_access()
    page.get_by_role("button", name="Probe all").click()
    expect(page.get_by_role("dialog")).to_contain_text("Where the price is known")

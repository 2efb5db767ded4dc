"""The agents' list, an agent's settings and its mind."""

from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import Page, expect
from tests.support.browsing import Screen
from tests.support.script import says
from tests.support.talks import Talk

from remanence.core.message import Message, text_parts
from remanence.kit.ids import AgentId, new_message_id
from remanence.messages.repository import insert_messages


def _open(screen: Screen, agent: dict[str, Any]) -> Page:
    page = screen.open(f"/agents/{agent['id']}")
    expect(page.get_by_role("heading", name="Context window")).to_be_visible()
    return page


def test_agents_are_found_made_duplicated_and_deleted_with_a_way_back(screen: Screen, talk: Talk) -> None:
    talk.agent(name="Hearth", tags=["home"], description="Plans a kitchen")
    talk.agent(name="Ledger", tags=["studio"])
    page = screen.open("/")
    row = page.get_by_role("row")
    expect(row.filter(has_text="Ledger")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("hear")
    expect(row.filter(has_text="Ledger")).to_have_count(0)
    expect(row.filter(has_text="Hearth")).to_be_visible()
    page.get_by_role("searchbox").fill("")
    page.get_by_role("button", name="studio").click()
    expect(row.filter(has_text="Hearth")).to_have_count(0)
    page.get_by_role("button", name="All", exact=True).click()

    page.get_by_role("button", name="More for Hearth").click()
    page.get_by_role("menuitem", name="Duplicate").click()
    expect(page.get_by_role("link", name="Hearth copy")).to_be_visible()
    page.get_by_role("button", name="More for Ledger").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(row.filter(has_text="Ledger")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row.filter(has_text="Ledger")).to_be_visible()
    assert {each["name"] for each in talk.get("/v1/agents/")} == {"Hearth", "Hearth copy", "Ledger"}

    page.get_by_role("button", name="New agent").click()
    page.get_by_role("button", name="Create and open").click()
    expect(page.get_by_role("heading", name="Agent 4")).to_be_visible()


def test_a_duplicate_has_the_same_mind(screen: Screen, talk: Talk) -> None:
    agent = talk.agent(name="Hearth", system="You plan kitchens.", secrets={"KEY": "v"})
    page = _open(screen, agent)
    page.get_by_role("button", name="Duplicate, delete").click()
    page.get_by_role("menuitem", name="Duplicate").click()
    expect(page.get_by_role("heading", name="Hearth copy")).to_be_visible()
    copy = next(each for each in talk.get("/v1/agents/") if each["name"] == "Hearth copy")
    copy = talk.tenant.state(copy["id"])
    assert copy["system"] == "You plan kitchens."
    assert {block["label"]: block["value"] for block in copy["blocks"]} == {
        block["label"]: block["value"] for block in agent["blocks"]
    }
    assert {block["id"] for block in copy["blocks"]}.isdisjoint(block["id"] for block in agent["blocks"])
    assert [each["key"] for each in copy["secrets"]] == ["KEY"]


def test_settings_are_saved_as_they_are_changed(screen: Screen, talk: Talk) -> None:
    agent = talk.agent(name="Hearth")
    page = _open(screen, agent)
    page.get_by_label("Model", exact=True).select_option("openai/gpt-4o")
    expect(page.get_by_text("Saved")).to_be_visible()
    field = page.get_by_label("Temperature")
    field.fill("3")
    expect(page.get_by_text("Use a number from 0 to 2.")).to_be_visible()
    field.fill("0.3")
    field.press("Enter")
    page.get_by_role("switch", name="Parallel tool calls").click()
    expect(page.get_by_role("switch", name="Parallel tool calls")).to_be_checked()
    tool = page.get_by_role("listitem").filter(has_text="memory_insert")
    tool.hover()
    tool.get_by_role("button", name="More for memory_insert").click()
    page.get_by_role("menuitem", name="Ask me before it runs").click()
    expect(tool).to_contain_text("asks first")
    page.get_by_role("button", name="Attach a tool").click()
    page.get_by_role("button", name="Attach archival_memory_search").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("listitem").filter(has_text="archival_memory_search")).to_be_visible()
    page.get_by_text("Secrets").click()
    page.get_by_label("Name of the secret").fill("SMTP_USER")
    page.get_by_label("Value of the secret").fill("maya")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("listitem").filter(has_text="SMTP_USER")).to_be_visible()
    page.get_by_text("Sleep-time").click()
    page.get_by_role("switch", name="Sleep-time").click()
    expect(page.get_by_role("link", name="Open the helper")).to_be_visible()
    page.get_by_text("Compaction").click()
    page.get_by_label("Mode", exact=True).select_option("all")
    page.get_by_text("System prompt").click()
    page.get_by_label("System prompt").fill("You are brief.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    now = talk.tenant.state(agent["id"])
    assert now["model"] == "openai/gpt-4o"
    assert now["model_settings"]["temperature"] == 0.3
    assert now["model_settings"]["parallel_tool_calls"] is True
    assert now["secrets"][0]["key"] == "SMTP_USER"
    assert now["enable_sleeptime"] is True
    assert now["compaction_settings"]["mode"] == "all"
    assert now["system"] == "You are brief."


def test_a_block_is_edited_in_place_and_taken_back(screen: Screen, talk: Talk) -> None:
    agent = talk.agent()
    page = _open(screen, agent)
    block = page.get_by_label("Block human")
    block.get_by_text("Name: Eve").click()
    field = block.get_by_role("textbox")
    field.fill("Name: Eve\nLikes figs.")
    expect(block).to_contain_text("Unsaved. Saving makes r2.")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Saved as r2.")).to_be_visible()
    expect(block.get_by_role("link", name="r2")).to_be_visible()
    assert talk.block(agent, "human") == "Name: Eve\nLikes figs."
    page.get_by_role("button", name="Undo").click()
    expect(block.get_by_text("Likes figs.")).to_have_count(0)
    block.get_by_text("Name: Eve").click()
    field.fill("x" * 100_001)
    expect(block).to_contain_text("1 characters over.")
    expect(block.get_by_role("button", name="Save")).to_be_disabled()


def test_an_edit_of_another_is_not_overwritten_unseen(screen: Screen, talk: Talk) -> None:
    agent = talk.agent()
    block_id = next(each["id"] for each in agent["blocks"] if each["label"] == "human")
    page = _open(screen, agent)
    screen.allowed.append("409")
    block = page.get_by_label("Block human")
    block.get_by_text("Name: Eve").click()
    block.get_by_role("textbox").fill("Name: Eva")
    talk.ask("PATCH", f"/v1/blocks/{block_id}", json={"value": "Name: Evelyn"})
    block.get_by_role("button", name="Save").click()
    expect(block).to_contain_text("r2 came in meanwhile")
    block.get_by_role("button", name="Compare").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("del")).to_have_text("Evelyn")
    expect(dialog.locator("ins")).to_have_text("Eva")
    page.keyboard.press("Escape")
    block.get_by_role("button", name="Keep mine").click()
    expect(block.get_by_role("link", name="r3")).to_be_visible()
    assert talk.block(agent, "human") == "Name: Eva"


def test_the_prompt_can_be_read_as_the_model_gets_it(screen: Screen, talk: Talk) -> None:
    agent = talk.agent()
    talk.say(agent, "Hello there", says("Good day."))
    page = _open(screen, agent)
    page.get_by_role("button", name="Read the whole prompt").click()
    dialog = page.get_by_role("dialog", name="What the model sees")
    for text in ("Name: Eve", "memory_insert", "Hello there", "Good day."):
        expect(dialog).to_contain_text(text)
    page.keyboard.press("Escape")
    talk.ask("PATCH", f"/v1/agents/{agent['id']}/core-memory/blocks/human", json={"value": "Name: Eva"})
    page.get_by_role("button", name="Rebuild the system message now").click()
    expect(page.get_by_label("Block human")).to_contain_text("Name: Eva")


def test_thousands_of_messages_scroll(screen: Screen, talk: Talk) -> None:
    agent = talk.agent(name="Elder")
    start = datetime(2026, 1, 2, tzinfo=UTC)
    history = [
        Message(
            id=new_message_id(),
            agent_id=AgentId(agent["id"]),
            role="assistant" if number % 2 else "user",
            content=text_parts(f"message {number}"),
            created_at=start + timedelta(minutes=number),
        )
        for number in range(2000)
    ]
    talk.tenant.house.write(insert_messages, talk.tenant.actor.organization_id, history)
    page = _open(screen, agent)
    log = page.get_by_role("log")
    expect(log.get_by_text("message 1999", exact=True)).to_be_visible()
    first = log.get_by_text("message 0", exact=True)
    reach_the_start = """() => {
      const log = document.querySelector(".log");
      log.scrollTop = 0;
      if (log.querySelectorAll(".vrow").length > 100) throw new Error("too many rows are in the page");
      return [...log.querySelectorAll(".said")].some((node) => node.textContent === "message 0");
    }"""
    page.wait_for_function(reach_the_start, polling=50, timeout=30_000)
    expect(first).to_be_visible()
    page.get_by_role("button", name="To the newest").click()
    expect(log.get_by_text("message 1999", exact=True)).to_be_visible()


def test_a_long_list_of_agents_scrolls(screen: Screen, talk: Talk) -> None:
    for number in range(120):
        talk.tenant.agent(name=f"Agent number {number}", include_base_tools=False)
    page = screen.open("/")
    links = page.get_by_role("link", name="Agent number")
    expect(links.first).to_be_visible()
    main = page.get_by_role("main")
    seen: set[str] = set()
    for _ in range(300):
        assert page.get_by_role("row").count() < 60
        seen |= set(links.all_inner_texts())
        if len(seen) == 120:
            break
        main.evaluate("node => { node.scrollTop += 600 }")
        page.wait_for_timeout(30)
    assert len(seen) == 120

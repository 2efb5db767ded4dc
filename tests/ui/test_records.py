"""What is on record: runs with their steps, blocks with their history, and what the server is."""

import re

from playwright.sync_api import Page, expect
from tests.support.browsing import Screen
from tests.support.script import Gate, calls, fails, says, thinks
from tests.support.talks import Talk
from tests.support.waiting import until_sync

FIGS = calls("memory_insert", label="human", new_string="Likes figs.")


def test_a_run_is_shown_as_a_timeline_with_tokens_cost_and_what_it_wrote(talk: Talk, screen: Screen) -> None:
    agent = talk.agent(name="Hearth")
    talk.say(
        agent,
        "I like figs.",
        (thinks("Worth keeping.") + FIGS).counting(prompt=21_874, completion=148, cached=20_124),
        says("Noted.").counting(prompt=22_410, completion=96, cached=22_000),
    )
    page = screen.open("/runs")
    row = page.get_by_role("row", name=re.compile("I like figs"))
    expect(row).to_contain_text("Hearth")
    expect(row).to_contain_text("finished")
    expect(row).to_contain_text("44,284")
    screen.check_access()
    row.click()
    timeline = page.get_by_role("group", name="Timeline")
    expect(timeline.get_by_role("row", name=re.compile("Step 1 "))).to_contain_text("92 %")
    expect(timeline.get_by_role("row", name=re.compile("memory_insert"))).to_be_visible()
    assert timeline.locator(".bar_.model").count() == 2
    expect(page.get_by_role("tabpanel")).to_contain_text("REMANENCE_TRACES=all")
    page.get_by_role("tab", name=re.compile("Messages")).click()
    expect(page.get_by_role("tabpanel")).to_contain_text("Worth keeping.")
    screen.check_access()
    page.get_by_role("tab", name=re.compile("Memory edits")).click()
    page.get_by_role("link", name="r2").click()
    expect(page.get_by_role("heading", name="r2")).to_be_visible()


def test_a_failed_run_shows_the_words_of_its_provider_and_the_exchange(talk: Talk, screen: Screen) -> None:
    agent = talk.agent()
    sad = {"error": {"message": "Too hot: no temperature above 2."}}
    talk.refuse(agent, 400, fails(400, sad), input="Hello")
    talk.say(agent, "Hello again", says("Hello."))
    page = screen.open("/runs")
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_label("State").select_option("failed")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("link", name="Hello", exact=True).click()
    expect(page.locator(".note.bad")).to_contain_text("Too hot: no temperature above 2.")
    expect(page.get_by_role("group", name="Response")).to_contain_text("Too hot")
    expect(page.get_by_role("group", name="Request")).to_contain_text("gpt-4o-mini")


def test_a_run_at_work_grows_and_can_be_stopped(talk: Talk, screen: Screen) -> None:
    agent = talk.agent()
    gate = Gate()
    talk.model.script(FIGS, says("Never said.").held(gate))
    run = talk.ask("POST", f"/v1/agents/{agent['id']}/messages/async", json={"input": "Go"})
    gate.reached.wait_sync()
    page = screen.open(f"/runs/{run['id']}")
    expect(page.get_by_text("under way")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("memory_insert"))).to_be_visible()
    page.get_by_role("button", name="Stop run").click()
    expect(page.locator(".runhead .tag")).to_have_text("stopped")
    gate.open()
    until_sync(lambda: talk.get(f"/v1/runs/{run['id']}")["completed_at"] is not None)


def test_shared_blocks_are_made_edited_and_given_to_agents(talk: Talk, screen: Screen) -> None:
    agent = talk.agent(name="Hearth")
    page = screen.open("/blocks")
    page.get_by_role("button", name="New block").first.click()
    page.get_by_label("Label", exact=True).fill("house_rules")
    page.get_by_label("Text", exact=True).fill("Quiet after ten.")
    page.get_by_role("button", name="Make the block").click()
    expect(page.get_by_role("heading", name="house_rules")).to_be_visible()
    page.get_by_label("Agent", exact=True).select_option(label="Hearth")
    page.get_by_role("button", name="Attach").click()
    expect(page.get_by_role("heading", name="Held by 1 agent")).to_be_visible()
    assert talk.block(agent, "house_rules") == "Quiet after ten."
    text = page.get_by_label("Text of the block")
    text.fill("Quiet after nine.")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Saved as r2.")).to_be_visible()
    assert talk.block(agent, "house_rules") == "Quiet after nine."
    screen.check_access()
    page.get_by_role("link", name="Blocks", exact=True).first.click()
    expect(page.get_by_role("row", name=re.compile("house_rules"))).to_contain_text("Hearth")
    page.get_by_role("button", name="Shared").click()
    expect(page.get_by_text("No block is shared")).to_be_visible()
    screen.check_access()


def test_a_block_that_others_wrote_to_meanwhile_is_not_overwritten(talk: Talk, screen: Screen) -> None:
    screen.allowed.append("409")
    block = talk.ask("POST", "/v1/blocks/", json={"label": "plan", "value": "beds: three"})
    page = screen.open(f"/blocks/{block['id']}")
    page.get_by_label("Text of the block").fill("beds: four")
    talk.ask("PATCH", f"/v1/blocks/{block['id']}", json={"value": "beds: five"})
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Somebody wrote to the same lines meanwhile.")).to_be_visible()
    page.get_by_role("button", name="Keep mine and save over it").click()
    expect(page.get_by_text("Saved as r3.")).to_be_visible()


def history(talk: Talk) -> str:
    """A block whose second write is an agent's and whose third is a person's."""
    agent = talk.agent(name="Hearth")
    thought = thinks("Figs matter.") + FIGS
    talk.say(agent, "I like figs.", thought, says("Noted."))
    (block,) = [each for each in agent["blocks"] if each["label"] == "human"]
    value = talk.block(agent, "human").replace("figs", "dates")
    talk.ask("PATCH", f"/v1/blocks/{block['id']}", json={"value": value})
    return block["id"]


def test_the_history_of_a_block_tells_who_wrote_and_why_and_leads_back(talk: Talk, screen: Screen) -> None:
    block = history(talk)
    page = screen.open(f"/blocks/{block}/history")
    revisions = page.get_by_role("region", name="Revisions").get_by_role("button")
    expect(revisions.filter(has_text="r3")).to_contain_text("You")
    expect(revisions.filter(has_text="r2")).to_contain_text("Figs matter.")
    expect(page.locator(".diff del")).to_have_text("figs")
    expect(page.locator(".diff ins")).to_have_text("dates")
    page.keyboard.press("j")
    about = page.get_by_role("complementary", name="About this revision")
    expect(about).to_contain_text("Hearth wrote r2")
    expect(about).to_contain_text("I like figs.")
    expect(about).to_contain_text("memory_insert")
    screen.check_access()
    page.get_by_label("Compared with").select_option(label="r3, current")
    expect(page.locator(".diff del")).to_have_text("dates")
    page.get_by_role("button", name="Restore r2").click()
    expect(page.get_by_text("r2 is restored as r4.")).to_be_visible()
    assert "Likes figs." in talk.get(f"/v1/blocks/{block}")["value"]
    revisions.filter(has_text="r2").filter(has_text="Figs").click()
    page.get_by_role("button", name="Undo this write alone").click()
    expect(page.get_by_text("r2 is taken back as r5")).to_be_visible()
    assert "figs" not in talk.get(f"/v1/blocks/{block}")["value"]


def test_the_settings_tell_what_the_server_is_and_keep_what_this_browser_likes(
    screen: Screen, page: Page
) -> None:
    screen.open("/settings")
    expect(page.get_by_text("SQLite")).to_be_visible()
    expect(page.get_by_text("those of failed steps")).to_be_visible()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("switch", name="Single letters as commands").click()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    page.get_by_role("switch", name="Single letters as commands").click()
    screen.check_access()
    page.get_by_role("heading", name="Settings").click()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()


def test_what_was_said_is_found_with_its_score_and_neighbour_and_opens_in_its_place(
    talk: Talk, screen: Screen
) -> None:
    told = [
        {"role": "user", "content": "There is no lift in the house; deliveries go up three floors."},
        {"role": "assistant", "content": "I will ask every supplier to carry it up."},
        {"role": "user", "content": "Tomas can take Friday off."},
    ]
    agent = talk.agent(name="Hearth", initial_message_sequence=told)
    page = screen.open(f"/agents/{agent['id']}")
    page.get_by_role("tab", name=re.compile("Recall")).click()
    page.get_by_label("Search what was said").fill("lift delivery")
    hit = page.locator(".hit").first
    expect(hit).to_contain_text("There is no lift")
    expect(hit.locator(".score")).to_be_visible()
    expect(hit.locator("mark").first).to_have_text("lift")
    expect(hit.locator(".near")).to_contain_text("Hearth: I will ask every supplier")
    screen.check_access()
    page.get_by_label("Said by").select_option("assistant")
    expect(page.locator(".hit").first).to_contain_text("I will ask every supplier")
    page.get_by_label("Said by").select_option("anyone")
    page.get_by_role("link", name="There is no lift").click()
    expect(page).to_have_url(re.compile(r"\?message=message-"))


def test_passages_are_kept_found_deleted_and_brought_back(talk: Talk, screen: Screen) -> None:
    agent = talk.agent(name="Hearth")
    page = screen.open(f"/agents/{agent['id']}")
    page.get_by_role("tab", name=re.compile("Archival")).click()
    expect(page.get_by_text("Nothing is kept here yet.")).to_be_visible()
    for text in ("The landing is 1.05 m wide.", "Bergström carries up for €90."):
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_label("Text of the passage").fill(text)
        page.get_by_label("Tags").fill("delivery, house")
        page.get_by_role("button", name="Keep it").click()
        expect(page.locator(".hit", has_text=text)).to_contain_text("delivery")
    page.get_by_label("Search archival memory").fill("landing")
    hit = page.locator(".hit").first
    expect(hit.locator("mark")).to_have_text("landing")
    expect(hit.locator(".score")).to_be_visible()
    screen.check_access()
    hit.get_by_role("button", name="Delete this passage").click()
    expect(page.get_by_text("The passage is deleted.")).to_be_visible()
    assert len(talk.get(f"/v1/agents/{agent['id']}/archival-memory")) == 1
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".hit").first).to_contain_text("landing")
    assert len(talk.get(f"/v1/agents/{agent['id']}/archival-memory")) == 2

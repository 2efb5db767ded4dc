"""Talking to an agent: first contact, streams, tools, approvals, stopping, coming back, pictures, forks."""

import base64
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Locator, Page, expect
from tests.support.browsing import Screen
from tests.support.images import PIXEL
from tests.support.script import Gate, calls, fails, says, thinks
from tests.support.talks import Talk


def _open(screen: Screen, agent: dict[str, Any]) -> Page:
    page = screen.open(f"/agents/{agent['id']}")
    expect(_field(page)).to_be_visible()
    return page


def _field(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message to")


def _say(page: Page, text: str) -> None:
    _field(page).fill(text)
    page.keyboard.press("Enter")


def test_a_newcomer_has_an_answer_after_one_click_and_one_typed_line(screen: Screen, talk: Talk) -> None:
    talk.model.script(says("Hello, I am new here too."))
    page = screen.open("/")
    page.get_by_role("button", name="Create and open").click()
    expect(_field(page)).to_be_focused()
    page.keyboard.type("Hello!")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log").get_by_text("Hello, I am new here too.")).to_be_visible()


def test_words_come_as_they_are_written_and_nothing_is_drawn_twice(screen: Screen, talk: Talk) -> None:
    gate = Gate()
    talk.model.script(
        thinks("She said figs.") + calls("memory_insert", label="human", new_string="Likes figs."),
        says("I **noted** that you like figs.").paused(gate, after=3),
    )
    page = _open(screen, talk.agent(name="Fig"))
    _say(page, "I like figs")
    log = page.get_by_role("log")
    expect(log.get_by_text("I noted that")).to_be_visible()
    assert "you like" not in log.inner_text()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    log.locator("article.agent").evaluate("node => node.dataset.mark = 'first'")
    expect(page.get_by_label("Block human")).to_contain_text("Likes figs.")
    gate.open()
    expect(log.get_by_text("I noted that you like figs.")).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    expect(log.locator("article.agent[data-mark=first]")).to_have_count(1)
    expect(log.locator("article")).to_have_count(2)
    expect(log.get_by_label("Tool call memory_insert")).to_contain_text("Likes figs.")
    expect(log.get_by_text("Step 2")).to_be_visible()
    log.get_by_text("Thought").click()
    expect(log.locator(".thought")).to_have_text("She said figs.")
    page.reload()
    expect(log.locator("article")).to_have_count(2)
    assert log.locator("article").first.inner_text().endswith("I like figs")


def test_a_run_is_followed_again_after_a_reload_and_after_a_lost_connection(
    screen: Screen, talk: Talk, context: BrowserContext
) -> None:
    first, second = Gate(), Gate()
    talk.model.script(says("one two three four five").paused(first, after=2).paused(second, after=4))
    page = _open(screen, talk.agent())
    _say(page, "Count")
    log = page.get_by_role("log")
    expect(log.get_by_text("one two", exact=True)).to_be_visible()
    page.reload()
    expect(log.get_by_text("one two", exact=True)).to_be_visible()
    first.open()
    expect(log.get_by_text("one two three four", exact=True)).to_be_visible()
    screen.allowed += ["ERR_INTERNET_DISCONNECTED", "ERR_NETWORK_IO_SUSPENDED", "ERR_NETWORK_CHANGED"]
    context.set_offline(True)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_text("Connection lost.")).to_be_visible()
    page.keyboard.press("Escape")
    second.open()
    context.set_offline(False)
    expect(log.get_by_text("one two three four five", exact=True)).to_be_visible()
    expect(log.locator("article")).to_have_count(2)


def test_a_call_waits_for_approval_with_its_true_arguments(screen: Screen, talk: Talk) -> None:
    rules = [{"type": "requires_approval", "tool_name": "memory_insert"}]
    talk.model.script(
        calls("memory_insert", label="human", new_string="Likes tea."),
        says("It is written down."),
        calls("memory_insert", label="human", new_string="Hates tea."),
        says("As you wish."),
    )
    agent = talk.agent(tool_rules=rules)
    page = _open(screen, agent)
    _say(page, "I like tea")
    card = page.get_by_role("region", name="Approval request")
    expect(card).to_contain_text("new_string")
    expect(card).to_contain_text("Likes tea.")
    expect(page.get_by_text("takes no message while a call waits")).to_be_visible()
    card.get_by_role("button", name="JSON").click()
    expect(card).to_contain_text('"Likes tea."')
    page.get_by_role("log").focus()
    page.keyboard.press("a")
    expect(page.get_by_role("log").get_by_text("It is written down.")).to_be_visible()
    expect(page.get_by_text("approved by you")).to_be_visible()
    assert "Likes tea." in talk.block(agent, "human")
    _say(page, "No, I hate it")
    expect(card).to_contain_text("Hates tea.")
    card.get_by_label("Reason").fill("That was a joke.")
    card.get_by_role("button", name="Deny").click()
    expect(page.get_by_role("log").get_by_text("As you wish.")).to_be_visible()
    expect(page.get_by_text("That was a joke.").first).to_be_visible()
    assert "Hates tea." not in talk.block(agent, "human")


def test_a_run_can_be_stopped_and_a_message_sent_meanwhile_waits_its_turn(screen: Screen, talk: Talk) -> None:
    gate = Gate()
    talk.model.script(says("This takes long.").paused(gate, after=2), says("At your service."))
    page = _open(screen, talk.agent())
    log = page.get_by_role("log")
    _say(page, "Go on")
    expect(log.get_by_text("This takes", exact=True)).to_be_visible()
    _say(page, "And then?")
    expect(log.get_by_text("waits its turn")).to_be_visible()
    page.keyboard.press("Control+.")
    expect(log.get_by_text("Stopped by you.")).to_be_visible()
    gate.open()
    expect(log.get_by_text("At your service.")).to_be_visible()


def test_a_failed_run_says_why_and_keeps_the_message(screen: Screen, talk: Talk) -> None:
    talk.model.script(
        fails(400, {"error": {"message": "the scripted provider is unwell", "type": "x"}}),
        says("Better now."),
    )
    page = _open(screen, talk.agent())
    _say(page, "Hello")
    log = page.get_by_role("log")
    expect(log.get_by_role("alert")).to_contain_text("the scripted provider is unwell")
    log.get_by_role("button", name="Send again").click()
    expect(log.get_by_text("Better now.")).to_be_visible()


def test_a_picture_is_dropped_into_a_message_and_reaches_the_model(
    screen: Screen, talk: Talk, tmp_path: Path
) -> None:
    talk.model.script(says("A dot."))
    file = tmp_path / "dot.png"
    file.write_bytes(base64.b64decode(PIXEL))
    page = _open(screen, talk.agent())
    page.get_by_label("Files", exact=True).set_input_files(file)
    expect(page.get_by_text("dot.png")).to_be_visible()
    _say(page, "What is this?")
    expect(page.get_by_role("log").get_by_text("A dot.")).to_be_visible()
    expect(page.get_by_role("img", name="Picture that you sent")).to_be_visible()
    assert "image" in str(talk.model.last.messages[-1])


def test_a_fork_shares_the_history_up_to_a_message_and_goes_its_own_way(screen: Screen, talk: Talk) -> None:
    talk.model.script(says("First answer."), says("Second answer."), says("Another answer."))
    page = _open(screen, talk.agent())
    log = page.get_by_role("log")
    for said, answered in (("One", "First answer."), ("Two", "Second answer.")):
        _say(page, said)
        expect(log.get_by_text(answered)).to_be_visible()
        expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    log.get_by_text("First answer.").hover()
    log.get_by_role("button", name="Fork from here").locator("visible=true").click()
    expect(page.get_by_role("button", name="Conversation: Fork of")).to_be_visible()
    expect(log.locator("article")).to_have_count(2)
    _say(page, "Otherwise?")
    expect(log.get_by_text("Another answer.")).to_be_visible()
    page.get_by_role("button", name="Conversation: Fork of").click()
    page.get_by_role("menuitemradio", name="Main history").click()
    expect(log.get_by_text("Second answer.")).to_be_visible()
    expect(log.get_by_text("Another answer.")).to_have_count(0)

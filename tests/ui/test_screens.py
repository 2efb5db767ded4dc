"""Every screen can be used by everybody, in both themes; `REMANENCE_PICTURES=folder` keeps pictures of them."""

import os
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, expect
from tests.support.browsing import Screen
from tests.support.talks import Talk
from tests.ui.household import move_in

PHONE = ViewportSize(width=390, height=844)


def picture(page: Page, screen: Screen, name: str) -> None:
    folder = os.environ.get("REMANENCE_PICTURES")
    if not folder:
        return
    for theme in ("dark", "light"):
        screen.choose_theme(theme)
        page.screenshot(path=Path(folder) / f"{name}-{theme}.png")


def test_the_first_start(screen: Screen) -> None:
    page = screen.open("/")
    expect(page.get_by_role("heading", name="No agents yet")).to_be_visible()
    screen.check_access()
    picture(page, screen, "agents-empty")


def test_the_list_of_agents(screen: Screen, talk: Talk) -> None:
    move_in(talk)
    for name, tag in (("Ledger", "studio"), ("Scout", "research"), ("Menu planner", "home")):
        talk.tenant.agent(name=name, tags=[tag], description=f"{name} keeps things in order")
    page = screen.open("/")
    expect(page.get_by_role("link", name="Hearth")).to_be_visible()
    expect(page.get_by_role("img", name="Context window").first).to_be_visible()
    screen.check_access()
    picture(page, screen, "agents")
    page.set_viewport_size(PHONE)
    picture(page, screen, "agents-phone")


def test_the_workbench(screen: Screen, talk: Talk) -> None:
    agent = move_in(talk)
    page = screen.open(f"/agents/{agent['id']}")
    expect(page.get_by_text("send_email waits for your approval")).to_be_visible()
    expect(page.get_by_role("heading", name="Context window")).to_be_visible()
    expect(page.get_by_text("prompt still has r1")).to_be_visible()
    screen.check_access()
    picture(page, screen, "workbench")
    page.get_by_role("button", name="Blocks").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("persona")
    picture(page, screen, "workbench-context")
    page.mouse.move(700, 20)
    page.set_viewport_size(PHONE)
    screen.check_access()
    for pane in ("Chat", "Mind", "Settings"):
        page.get_by_role("navigation", name="Panes").get_by_role("button", name=pane).click()
        picture(page, screen, f"phone-{pane.lower()}")

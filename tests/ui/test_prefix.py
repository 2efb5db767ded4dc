"""The interface behind a proxy that puts a path before the server and hands requests on without it."""

import re

from playwright.sync_api import BrowserContext, Route, expect
from tests.support.browsing import Screen
from tests.support.talks import Talk


def test_it_works_under_a_prefix(screen: Screen, context: BrowserContext, talk: Talk) -> None:
    agent = talk.agent(name="Hearth")
    asked: list[str] = []

    def hand_on(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(response=route.fetch(url=route.request.url.replace("/house/", "/", 1)))

    context.route("**/house/**", hand_on)
    page = screen.open("/house/")
    strangers: list[str] = []
    page.on(
        "request", lambda request: strangers.append(request.url) if "/house/" not in request.url else None
    )
    page.get_by_role("link", name="Hearth").click()
    expect(page).to_have_url(re.compile(f"/house/agents/{agent['id']}$"))
    expect(page.get_by_role("heading", name="Context window")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Context window")).to_be_visible()
    context.unroute_all(behavior="wait")
    assert asked
    assert strangers == []

"""Schedules in the settings of an agent: seen, added and deleted."""

from playwright.sync_api import expect
from tests.support.browsing import Screen
from tests.support.talks import Talk

from remanence.kit.clock import utc_now


def test_schedules_are_added_listed_and_deleted(screen: Screen, talk: Talk) -> None:
    screen.allowed.append("422")
    agent = talk.agent(name="Hearth", timezone="Europe/Berlin")
    path = f"/v1/agents/{agent['id']}/schedule"
    page = screen.open(f"/agents/{agent['id']}")
    page.get_by_text("Schedules").click()
    expect(page.get_by_text("Say something to the agent later")).to_be_visible()

    page.get_by_role("button", name="Add a schedule").click()
    dialog = page.get_by_role("dialog", name="Add a schedule")
    dialog.get_by_label("What is said to Hearth").fill("Is the oven off?")
    dialog.get_by_role("button", name="Add", exact=True).click()
    once = page.get_by_role("listitem").filter(has_text="Is the oven off?")
    expect(once).to_contain_text("next")
    (made,) = talk.get(path)["scheduled_messages"]
    ahead_s = made["schedule"]["scheduled_at"] / 1000 - utc_now().timestamp()
    assert 3400 < ahead_s < 3700, "in an hour, unless told otherwise"

    page.get_by_role("button", name="Add a schedule").click()
    dialog.get_by_label("What is said to Hearth").fill("Good morning.")
    dialog.get_by_role("button", name="Again and again").click()
    cron = dialog.get_by_label("Cron expression, on the clock of Europe/Berlin")
    cron.fill("every day")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("five fields")
    cron.fill("0 7 * * *")
    dialog.get_by_role("button", name="Add", exact=True).click()
    daily = page.get_by_role("listitem").filter(has_text="Good morning.")
    expect(daily).to_contain_text("0 7 * * *")
    expect(daily).to_contain_text("Europe/Berlin")
    expect(daily).to_contain_text("next")
    screen.check_access()

    once.get_by_role("button", name="Delete the schedule").click()
    expect(once).to_have_count(0)
    assert [each["schedule"]["type"] for each in talk.get(path)["scheduled_messages"]] == ["recurring"]

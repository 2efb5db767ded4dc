"""What is around every page: theme, palette, keys, the password, and a server that goes away."""

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.support.browsing import Screen
from tests.support.databases import SqliteDatabases
from tests.support.server import RunningServer


def test_the_theme_follows_the_system_until_one_is_chosen_and_never_flashes(screen: Screen) -> None:
    page = screen.page
    page.emulate_media(color_scheme="dark")
    screen.open()
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    page.emulate_media(color_scheme="light")
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("menuitemradio", name="Dark").click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload(wait_until="commit")
    page.wait_for_function("() => document.body")
    assert root.get_attribute("data-theme") == "dark"


def test_the_palette_and_the_list_of_keys_open_by_keyboard(screen: Screen) -> None:
    page = screen.open()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Search or run a command")
    expect(box).to_be_focused()
    box.fill("keyboard")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_contain_text("Search or run a command")


def test_a_password_is_asked_for_once_and_a_wrong_one_refused(
    browser: Browser, sqlite_databases: SqliteDatabases, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = RunningServer(sqlite_databases.fresh(), tmp_path_factory.mktemp("pw"), password="open sesame")
    server.start()
    try:
        page = browser.new_page(base_url=server.base_url)
        page.goto("/")
        field = page.get_by_label("Password or key")
        field.fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("That is neither the password nor a key.")
        field.fill("open sesame")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="agents")).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", name="agents")).to_be_visible()
        kept = page.evaluate(
            "() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
        )
        assert "sesame" not in kept
        assert "rms_" not in kept
        page.goto("/settings")
        page.get_by_role("button", name="Sign out").click()
        expect(field).to_be_visible()
        page.reload()
        expect(field).to_be_visible()
        page.close()
    finally:
        server.stop()


def test_keys_are_made_shown_once_and_revoked(screen: Screen) -> None:
    page = screen.open("/settings")
    panel = page.get_by_role("region", name="Keys")
    expect(panel).to_contain_text("None yet.")
    panel.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog", name="New key")
    dialog.get_by_label("Name").fill("laptop")
    dialog.get_by_label("May").select_option("read_only")
    dialog.get_by_role("button", name="Make the key").click()
    shown = page.get_by_role("dialog", name="The key laptop")
    expect(shown.get_by_label("The key", exact=True)).to_contain_text("rmn_")
    key = shown.get_by_label("The key", exact=True).inner_text()
    screen.check_access()
    shown.get_by_role("button", name="Done").click()
    row = panel.get_by_role("row", name="laptop")
    expect(row).to_contain_text(key[:8])
    expect(row).to_contain_text("read")
    screen.check_access()
    row.get_by_role("button", name="Revoke").click()
    row.get_by_role("button", name="Revoke it?").click()
    expect(panel).to_contain_text("None yet.")


def test_a_server_that_goes_away_is_told_and_found_again(screen: Screen) -> None:
    screen.allowed.append("ERR_INTERNET_DISCONNECTED")
    page = screen.open()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.context.set_offline(True)
    page.keyboard.press("Control+k")
    expect(page.get_by_text("Connection lost.")).to_be_visible()
    page.keyboard.press("Escape")
    page.context.set_offline(False)
    expect(page.get_by_text("Connection lost.")).to_have_count(0)


def test_an_unknown_address_says_so(page: Page) -> None:
    page.goto("/no/such/page")
    expect(page.get_by_text("No such page")).to_be_visible()

"""The web interface in a real browser, on a real server with a scripted model behind it.

One browser and one server serve all of these tests; each has an organisation of its own, so that its lists
hold only what it made. They run in one process, in whatever order.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from tests.support.browsing import Screen
from tests.support.databases import SqliteDatabases
from tests.support.scripted_model import ScriptedModel
from tests.support.talks import Talk
from tests.support.tenants import SharedHouse

ROOT = Path(__file__).parents[2]
_FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Two processes share them, each with a browser of its own: one alone would end last of all."""
    ours = [item for item in items if item.path.is_relative_to(ROOT / "tests" / "ui")]
    files = sorted({item.path for item in ours})
    for item in ours:
        item.add_marker(pytest.mark.xdist_group(f"ui {files.index(item.path) % 2}"))


@pytest.fixture(scope="session")
def built() -> None:
    """The interface, built from the sources as they are now."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed, so the web interface cannot be built")
    done = subprocess.run(["sh", ROOT / "ui/build.sh"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# While Playwright is open a loop runs in this thread, and no other test could start one: so not for the session.
@pytest.fixture(scope="module")
def browser(built: None) -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed, so the web interface cannot be tried")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=_FLAGS.split())
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def shared_model() -> Iterator[ScriptedModel]:
    scripted = ScriptedModel.start_in_thread()
    yield scripted
    scripted.stop_thread()


@pytest.fixture(scope="session")
def house(
    sqlite_databases: SqliteDatabases, tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel
) -> Iterator[SharedHouse]:
    opened = SharedHouse(
        sqlite_databases.fresh(),
        tmp_path_factory.mktemp("ui"),
        openai_api_key="sk-test",
        openai_base_url=shared_model.base_url,
        default_model="openai/gpt-4o-mini",
    )
    with opened:
        yield opened


@pytest.fixture
def talk(house: SharedHouse, shared_model: ScriptedModel) -> Iterator[Talk]:
    """Somebody new, with a script for the model: every line of it must be played, and no other asked for."""
    tenant = house.new_tenant()
    shared_model.journal.clear()
    yield Talk(tenant, shared_model)
    tenant.close()
    shared_model.verify()


@pytest.fixture
def context(browser: Browser, house: SharedHouse, talk: Talk) -> Iterator[BrowserContext]:
    opened = browser.new_context(
        base_url=house.server.base_url,
        extra_http_headers={"user_id": talk.tenant.actor.user_id},
        viewport={"width": 1440, "height": 900},
        color_scheme="light",
        reduced_motion="reduce",
    )
    opened.set_default_timeout(20_000)
    expect.set_options(timeout=20_000)  # on a busy machine
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def screen(page: Page) -> Iterator[Screen]:
    """The page; the test fails on errors in its console and on requests to anywhere else."""
    watched = Screen(page)
    yield watched
    watched.verify()

"""A page in a browser: what it must never do, its pictures, and whether everybody can use it."""

from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import ConsoleMessage, Page, Request

ROOT = Path(__file__).parents[2]
_AXE = ROOT / "ui/node_modules/axe-core/axe.min.js"
_RUN_AXE = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .filter((each) => ["serious", "critical"].includes(each.impact))
  .map((each) => `${each.id}: ${each.nodes.map((node) => node.target.join(" ") + " " + (node.any[0]?.message ?? "")).join("; ")}`)"""


class Screen:
    """Watches a page. `allowed` are pieces of console errors that a test brings about on purpose."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.allowed: list[str] = []
        self._errors: list[str] = []
        self._strangers: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._errors.append(str(error)))
        page.on("request", self._look)

    def open(self, path: str = "/") -> Page:
        self.page.goto(path)
        return self.page

    def choose_theme(self, theme: Literal["light", "dark"]) -> None:
        self.page.evaluate(
            "theme => { localStorage.setItem('remanence.theme', theme); document.documentElement.dataset.theme = theme }",
            theme,
        )

    def check_access(self) -> None:
        """No serious fault in either theme, by axe."""
        if self.page.evaluate("() => typeof axe") == "undefined":
            self.page.evaluate(_AXE.read_text(encoding="utf-8"))
        for theme in ("dark", "light"):
            self.choose_theme(theme)
            found: list[Any] = self.page.evaluate(_RUN_AXE)
            assert found == [], f"{self.page.url}, {theme}: {found}"

    def verify(self) -> None:
        errors = [each for each in self._errors if not any(piece in each for piece in self.allowed)]
        assert errors == [], f"The console shows errors: {errors}"
        assert self._strangers == [], f"The page asked elsewhere: {self._strangers}"

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._errors.append(message.text)

    def _look(self, request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            self._strangers.append(request.url)

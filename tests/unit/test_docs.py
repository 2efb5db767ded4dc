"""The docs keep up with the code: every room is on the map, every setting in the guide."""

import re
from pathlib import Path

import pytest

from remanence.llm.vendors import VENDORS, Vendor
from remanence.settings import Settings

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "remanence"

ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
MODULES = sorted(path.name for path in PACKAGE.glob("[!_]*.py"))


def table_rows(page: str) -> dict[str, list[str]]:
    """The rows of a page's tables by the code in their first cell; the code of the second cell beside it."""
    text = (ROOT / "docs" / page).read_text()
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): re.findall(r"`([^`]+)`", row[1]) for row in cells}


@pytest.mark.parametrize("name", [*(f"{room}/" for room in ROOMS), *MODULES])
def test_each_room_is_on_the_map(name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "architecture.md").read_text()


@pytest.mark.parametrize("field", sorted(Settings.model_fields))
def test_each_setting_is_in_the_guide_with_all_its_names(field: str) -> None:
    aliases = getattr(
        Settings.model_fields[field].validation_alias, "choices", [f"REMANENCE_{field.upper()}"]
    )
    assert table_rows("guide/configuration.md").get(field) == aliases


def test_the_guide_names_no_setting_that_is_gone() -> None:
    assert set(table_rows("guide/configuration.md")) == set(Settings.model_fields)


@pytest.mark.parametrize("page", sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")))
def test_links_between_pages_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text())
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
def test_each_vendor_is_in_the_guide_with_its_variables(vendor: Vendor) -> None:
    page = (ROOT / "docs" / "guide" / "models.md").read_text()
    assert all(f"`{name}`" in page for name in (f"{vendor.name}/…", *vendor.variables))

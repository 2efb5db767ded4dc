"""Packages for tools: installed once for each set of them, and removed when nobody used them for long."""

import os
import time
import zipfile
from pathlib import Path

import pytest

from remanence.sandbox.environments import EnvironmentFailed, Environments, Package

DAY_S = 86400


def last_used(folder: Path, days_ago: int) -> None:
    then = time.time() - days_ago * DAY_S
    os.utime(folder, (then, then))


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


@pytest.fixture
def wheel(tmp_path: Path) -> Package:
    """A package that needs no index to be installed."""
    path = tmp_path / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny.py", "SIZE = 'small'\n")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    return Package(str(path))


async def test_packages_that_nobody_used_for_long_are_removed(tmp_path: Path, wheel: Package) -> None:
    folder = tmp_path / "environments"
    for name, age in (("python-old", 31), (".new-left-behind", 31), ("node-used", 29)):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").touch()
        last_used(folder / name, age)
    environments = Environments(folder, keep_days=30)
    found = await environments.python([wheel])
    assert found is not None
    assert (found / "tiny.py").is_file()
    assert names_in(folder) == {"node-used", found.name}
    last_used(found, 29)
    assert await environments.python([wheel]) == found
    assert found.stat().st_mtime > time.time() - DAY_S, "it counts as used"


async def test_an_installation_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    environments = Environments(tmp_path, keep_days=30)
    with pytest.raises(EnvironmentFailed, match="could not be installed"):
        await environments.python([Package(str(tmp_path / "missing.whl"))])
    assert names_in(tmp_path) == set()

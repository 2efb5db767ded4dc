"""The sources of the web interface: their types, and their own tests of what is pure."""

import subprocess

import pytest
from tests.ui.conftest import ROOT


@pytest.mark.parametrize("command", ["tsc --noEmit", "vitest run"])
def test_the_sources_are_sound(command: str, built: None) -> None:
    program, *arguments = command.split()
    path = ROOT / "ui/node_modules/.bin" / program
    done = subprocess.run([path, *arguments], cwd=ROOT / "ui", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

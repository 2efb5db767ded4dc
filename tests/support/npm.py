"""What the tests need from npm, installed as locked, once for as long as the lock stays the same."""

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

_SOURCE = Path(__file__).parents[1] / "e2e" / "npm"
_CACHE = Path(__file__).parents[2] / ".npm-smoke"
_FILES = (
    "package.json",
    "package-lock.json",
    ".npmrc",
    "smoke.mjs",
    "runs.mjs",
    "folders.mjs",
    "contract.mjs",
)


def installed_folder() -> Path:
    """Skips the test where there is no npm."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed, so what they bring cannot be tried")
    digest = hashlib.sha256((_SOURCE / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = _CACHE / digest
    folder.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other test processes want it too
        for name in _FILES:
            shutil.copyfile(_SOURCE / name, folder / name)
        stamp = folder / "installed"
        if not stamp.exists():
            done = subprocess.run(["npm", "ci"], cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"npm ci failed:\n{done.stderr}"
            stamp.touch()
    return folder

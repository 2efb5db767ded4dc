"""Builds the web interface into the wheel, where node is at hand; a wheel without it serves the API alone."""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class InterfaceHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        script = Path(self.root, "ui", "build.sh")
        if version != "editable" and script.exists():
            subprocess.run(["sh", str(script)], check=True)

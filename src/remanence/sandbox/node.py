"""Tools in TypeScript and JavaScript: what is given to node so that it runs one."""

import asyncio
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from remanence.core.script_schema import parameter_names
from remanence.kit import json
from remanence.kit.json import JsonObject
from remanence.sandbox.call import Job
from remanence.sandbox.environments import Package

_RUNNER = "run_script.mjs"
_TYPE_STRIPPER = Package("amaro", "1.1.5")
"""What node itself strips types with, from version 22.13 on; older ones are given it as a package."""


@dataclass(frozen=True, slots=True)
class Script:
    language: str
    source: str
    name: str | None
    """The function to call; None to run the whole as a script."""
    args: JsonObject


def find_node() -> str | None:
    return shutil.which("node")


@cache
def _strips_types(node: str) -> bool:
    """Whether this node can do without help. Starts it once."""
    check = "process.exit(typeof require('node:module').stripTypeScriptTypes === 'function' ? 0 : 1)"
    done = subprocess.run([node, "-e", check], capture_output=True, timeout=20, check=False)
    return done.returncode == 0


async def extra_packages(language: str, node: str) -> list[Package]:
    if language != "typescript" or await asyncio.to_thread(_strips_types, node):
        return []
    return [_TYPE_STRIPPER]


def script_job(
    script: Script, node: str, environment: Path | None, env: Mapping[str, str], **options: Any
) -> Job:
    order = parameter_names(script.source, script.name) if script.name else []
    is_whole = order is None or (len(order) == 1 and order[0] not in script.args and len(script.args) > 0)
    job: JsonObject = {
        "language": script.language,
        "name": script.name,
        "args": script.args,
        "order": None if is_whole else (order or list(script.args)),
        "packages": str(environment / "node_modules") if environment else None,
    }
    return Job(
        "program",
        argv=[node, "--no-warnings", "--max-old-space-size=512", _RUNNER],
        files={
            _RUNNER: (files(__package__ or "") / _RUNNER).read_text(encoding="utf-8"),
            "job.json": json.encode_text(job),
            "source.txt": script.source,
        },
        env=env,
        **options,
    )

"""Lets a user without rights import from an interpreter that lies in somebody's private folder.

Such a folder cannot be walked through, but one that is open already can be used by its handle. Needed where a
server that runs as root cannot have a root of its own for tools. Standard library only.
"""

import os
import sys
from pathlib import Path

KEPT_HANDLES: set[int] = set()
_FIRST = 200


def open_private_folders() -> None:
    moved: dict[str, str] = {}
    for path in sorted({sys.prefix, sys.base_prefix, *sys.path}):
        if path and Path(path).is_dir() and not _is_open_to_all(Path(path)):
            handle = os.open(path, os.O_PATH)
            high = os.dup2(handle, _FIRST + len(KEPT_HANDLES))
            os.close(handle)
            KEPT_HANDLES.add(high)
            moved[path] = f"/proc/self/fd/{high}"
    if moved:
        _move_all(moved)


def _move_all(moved: dict[str, str]) -> None:
    def move(path: str) -> str:
        for old in sorted(moved, key=len, reverse=True):
            if path == old or path.startswith(old + "/"):
                return moved[old] + path[len(old) :]
        return path

    sys.path[:] = [move(path) for path in sys.path]
    sys.prefix, sys.base_prefix, sys.executable = map(move, (sys.prefix, sys.base_prefix, sys.executable))
    for module in list(sys.modules.values()):
        folders: object = getattr(module, "__path__", None)
        if isinstance(folders, list):
            module.__path__ = [move(str(folder)) for folder in folders]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    sys.path_importer_cache.clear()


def _is_open_to_all(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))

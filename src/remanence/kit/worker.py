"""Which process has something, and whether it is surely gone.

A lease lapses by itself, but a restarted server need not wait for that: it can see that the
process that held it on this machine is dead.
"""

import os
import platform
from functools import cache
from pathlib import Path


@cache
def this_worker() -> str:
    pid = os.getpid()
    return "|".join((*_place(), str(pid), _started(pid) or "0"))


def is_surely_gone(worker: str) -> bool:
    """False when it is alive, or where this process cannot see it, or when one cannot tell."""
    parts = worker.split("|")
    # Names of machines are not unique, and containers number their processes each for itself: only one
    # that ran under the same kernel, since its last boot, in the same process namespace, can be missed.
    if len(parts) != 5 or tuple(parts[:3]) != _place():
        return False
    pid, started = parts[3:]
    if _has_proc():
        return _started(int(pid)) != started
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@cache
def _place() -> tuple[str, str, str]:
    """Where process numbers mean something: the machine, its boot, and the process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        boot = namespace = ""
    return platform.node(), boot, namespace


@cache
def _has_proc() -> bool:
    return Path("/proc/self/stat").exists()


def _started(pid: int) -> str | None:
    """When a process began, in clock ticks; tells it from a later one with the same number."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    return None if fields[0] == "Z" else fields[19]

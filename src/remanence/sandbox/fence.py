"""The fence around one call, at each of its levels. Runs in the zygote and in what it forks.

- `namespaces`: own processes, own mounts with a private read-only root, own ipc and, unless it is granted, no
  network; a filter on system calls.
- `landlock`: rules of the kernel on which files may be opened, and the filter.
- `limits`: limits, an empty environment and, for a server that runs as root, a user without rights.

Standard library only.
"""

import contextlib
import os
import resource
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from remanence.sandbox import filters, kernel
from remanence.sandbox.kernel import MS_NODEV, MS_NOSUID

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SYSTEM_FILES = (
    "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/resolv.conf", "/etc/hosts",
    "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/localtime", "/etc/timezone", "/etc/alternatives",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/mime.types", "/etc/services",
    "/etc/protocols", "/etc/java-openjdk", "/etc/R",
)  # fmt: skip
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
SCRATCH = "/scratch"
"""Where a call works, as it sees it. Not `/tmp`: somebody's interpreter may be installed there."""
_HOST_SCRATCH = "remanence-sandbox-"
_STALE_S = 86_400
"""A process whose number is not known here may still live, in another container with the same `/tmp`."""
_INSIDE_UID = 1000
_FIRST_UID = 1_700_000_000
_FIRST_UID_IN_CONTAINER = 52_000
_UIDS_EACH, _RANGES, _RANGES_IN_CONTAINER = 128, 100_000, 100
"""Calls of a server that runs as root get a user each: limits on processes are counted by user."""


@dataclass(frozen=True)
class Setup:
    """What the server tells the zygote once."""

    level: str
    """The level that is wished for, or `auto`."""
    readable: list[str]
    """What tools may read besides the system: the interpreter, its packages, installed environments."""
    hidden: list[str]
    """Never to be seen, should it lie inside of what is readable."""
    is_root: bool = field(default_factory=lambda: os.geteuid() == 0)


@dataclass(frozen=True)
class Limits:
    memory_bytes: int
    cpu_s: int
    processes: int
    open_files: int
    file_bytes: int
    network: bool
    bounds_address_space: bool = True
    """Off for node, which reserves far more than it uses; its data is bounded instead."""


# The private root


def build_root(setup: Setup) -> None:
    """A file system with the system, the interpreter and nothing else, read-only; then it is the root."""
    readable = [*SYSTEM_FOLDERS, *SYSTEM_FILES, *DEVICES, *setup.readable]
    # Opened before anything is covered: the new root grows on top of a folder that may hold some of them.
    handles = {path: os.open(path, os.O_PATH) for path in readable if _is_plain(path)}
    links = {path: str(Path(path).readlink()) for path in SYSTEM_FOLDERS if Path(path).is_symlink()}
    root = "/tmp"
    proc = os.open("/proc", os.O_PATH)
    kernel.mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=16m")
    for path, target in links.items():
        Path(root + path).symlink_to(target)
    for path in sorted(handles, key=len):
        _bind_inside(root, path, handles[path])
    for path in (SCRATCH, "/proc", "/dev"):
        Path(root + path).mkdir(exist_ok=True)
    Path(root + "/dev/shm").symlink_to(SCRATCH)
    if not Path(root + "/tmp").exists():
        Path(root + "/tmp").symlink_to(SCRATCH)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        Path(f"{root}/dev/{name}").symlink_to(target)
    Path(root + "/etc/passwd").write_text(f"tool:x:{_INSIDE_UID}:{_INSIDE_UID}::{SCRATCH}:/bin/sh\n")
    Path(root + "/etc/group").write_text(f"tool:x:{_INSIDE_UID}:\n")
    try:
        kernel.mount("proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV | kernel.MS_NOEXEC)
    except (
        OSError
    ):  # where parts of the old one are covered, as in some containers, a fresh one is not allowed
        kernel.mount(f"/proc/self/fd/{proc}", root + "/proc", None, kernel.MS_BIND | kernel.MS_REC)
    for path in setup.hidden:
        _hide(root + path)
    for handle in (*handles.values(), proc):
        os.close(handle)
    kernel.pivot_root(root)
    kernel.mount(
        None, "/", None, kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY | MS_NOSUID | MS_NODEV
    )


def _is_plain(path: str) -> bool:
    return Path(path).exists() and not (path in SYSTEM_FOLDERS and Path(path).is_symlink())


def _bind_inside(root: str, path: str, handle: int) -> None:
    target = Path(root + path)
    if target.exists():  # inside of something that is there already
        return
    source = f"/proc/self/fd/{handle}"
    target.parent.mkdir(parents=True, exist_ok=True)
    if Path(source).is_dir():
        target.mkdir()
        kernel.bind(source, str(target))
    elif path in DEVICES:
        target.touch()
        kernel.mount(source, str(target), None, kernel.MS_BIND)
    else:
        target.touch()
        kernel.bind(source, str(target))


def _hide(path: str) -> None:
    with contextlib.suppress(OSError):
        if Path(path).is_dir():
            kernel.mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | kernel.MS_RDONLY, "size=4k,mode=000")
        elif Path(path).exists():
            kernel.mount("/dev/null", path, None, kernel.MS_BIND)


# One call


def begin_processes(own: int) -> None:
    """In the zygote: what it forks next is the first of processes of its own. `own` is its own namespace."""
    end_processes(own)
    kernel.unshare(kernel.CLONE_NEWPID)


def end_processes(own: int) -> None:
    kernel.setns(own, kernel.CLONE_NEWPID)


def enter_namespaces(setup: Setup, limits: Limits, uid: int | None) -> None:
    """In the process of the call: its own processes to see, a folder that nobody else sees, no network."""
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | (0 if limits.network else kernel.CLONE_NEWNET))
    this = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    try:
        kernel.mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | kernel.MS_NOEXEC)
    except OSError:  # where parts of the old one are covered a fresh one is not allowed
        kernel.mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | kernel.MS_RDONLY, "size=4k")
    owner = f",uid={uid},gid={uid}" if uid is not None else ""
    size = min(limits.file_bytes * 2, limits.memory_bytes)
    kernel.mount(
        "tmpfs", SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=700,size={size},nr_inodes=20000{owner}"
    )
    if not setup.is_root:
        # A user namespace for each: processes are counted in it, and in it nobody is root.
        kernel.unshare(kernel.CLONE_NEWUSER)
        for name, text in (
            ("uid_map", f"{_INSIDE_UID} 0 1"),
            ("setgroups", "deny"),
            ("gid_map", f"{_INSIDE_UID} 0 1"),
        ):
            handle = os.open(name, os.O_WRONLY, dir_fd=this)
            os.write(handle, text.encode())
            os.close(handle)
    os.close(this)


def go_first_when_memory_is_short() -> None:
    with contextlib.suppress(OSError):
        handle = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(handle, b"1000")
        os.close(handle)


def first_uid() -> int:
    """Of as many as a zygote may need; other zygotes on this machine have others."""
    if _has_all_users():
        return _FIRST_UID + os.getpid() % _RANGES * _UIDS_EACH
    return _FIRST_UID_IN_CONTAINER + os.getpid() % _RANGES_IN_CONTAINER * _UIDS_EACH


def _has_all_users() -> bool:
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return True
    return any(int(line.split()[2]) > _FIRST_UID + _RANGES * _UIDS_EACH for line in lines)


def make_host_scratch(uid: int | None) -> str:
    folder = tempfile.mkdtemp(prefix=f"{_HOST_SCRATCH}{os.getpid()}-")
    if uid is not None:
        os.chown(folder, uid, uid)
    return folder


def remove_host_scratch(folder: str) -> None:
    """Once nobody is left who could write there. What cannot be removed stays, and is not waited for."""
    shutil.rmtree(folder, ignore_errors=True)
    left = Path(folder)
    if os.geteuid() != 0 and left.is_dir() and not left.is_symlink():
        # What this user locked, this user can unlock. Root needs no such help, and must not be led elsewhere.
        for parent, names, _ in os.walk(folder):
            for name in names:
                inner = Path(parent, name)
                if not inner.is_symlink():
                    inner.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)


def remove_stale_scratch() -> None:
    """What zygotes that were killed have left."""
    for each in Path(tempfile.gettempdir()).glob(f"{_HOST_SCRATCH}*"):
        owner = each.name.removeprefix(_HOST_SCRATCH).partition("-")[0]
        with contextlib.suppress(OSError):  # it may be gone by now, or somebody else's
            if not Path(f"/proc/{owner}").exists() and each.stat().st_mtime < time.time() - _STALE_S:
                shutil.rmtree(each)


def set_limits(limits: Limits) -> None:
    bounded = resource.RLIMIT_AS if limits.bounds_address_space else resource.RLIMIT_DATA
    for kind, value in (
        (bounded, limits.memory_bytes),
        (resource.RLIMIT_CPU, limits.cpu_s),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # not every system knows, or lowers, each of them
            hard = resource.getrlimit(kind)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (value, value))


def give_up_rights(uid: int | None) -> None:
    """Another user, if there is one for this call, and none of the powers of root."""
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    if sys.platform == "linux":
        if uid is None:  # else the zygote did it for all: a user namespace of one's own brings them back
            kernel.bar_capabilities()
        kernel.drop_capabilities()
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # so that whoever answers for its connections can read them
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)


@cache
def shared_filter(level: str, has_network: bool) -> bytes | None:
    """The program of the filter on system calls, where it is the same for each call: made ahead of the fork."""
    if level == "limits" or not _fences_signals(level):
        return None
    return _build_filter(level, has_network, None)


def close_calls(level: str, limits: Limits) -> int | None:
    """The filter on system calls. Returns a handle if connections are to be asked about."""
    if level == "limits":
        return None
    program = shared_filter(level, limits.network) or _build_filter(level, limits.network, os.getpid())
    handle = kernel.install_filter(program, listens=limits.network)
    return handle if limits.network else None


def _build_filter(level: str, has_network: bool, own_pid: int | None) -> bytes:
    return filters.build_filter(
        network="asked" if has_network else "none" if level == "landlock" else "open",
        may_fork=True,
        may_signal=own_pid is None,
        own_pid=own_pid,
    )


def _fences_signals(level: str) -> bool:
    return level == "namespaces" or kernel.landlock_version() >= 6


def confine_files(setup: Setup, scratch: str) -> None:
    kernel.confine_files([*SYSTEM_FOLDERS, *SYSTEM_FILES, *setup.readable], [scratch, *DEVICES])

"""The system calls of Linux that Python has no words for, through ctypes. Standard library only.

Everything here raises OSError; on other systems nothing here is called.
"""

import ctypes
import os
import struct
from functools import cache
from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
_MS_NOATIME, _MS_NODIRATIME, _MS_RELATIME = 1024, 2048, 1 << 21
MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = (
    1,
    4,
    24,
    36,
    38,
)
PR_SET_PTRACER = 0x59616D61

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same on every machine
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_PIDFD_OPEN, _PIDFD_GETFD = 434, 438
_PROCESS_VM_READV = {"x86_64": 310, "aarch64": 270}
_PROCESS_VM_WRITEV = {"x86_64": 311, "aarch64": 271}

MACHINE = os.uname().machine


@cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _syscall(number: int, *args: Any) -> int:
    return _check(_libc().syscall(ctypes.c_long(number), *args))


def _by_machine(numbers: dict[str, int]) -> int:
    try:
        return numbers[MACHINE]
    except KeyError:
        raise OSError(38, f"not known for {MACHINE}") from None


def prctl(option: int, value: int = 0) -> None:
    zero = ctypes.c_ulong(0)
    _check(_libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero))


def unshare(flags: int) -> None:
    _check(_libc().unshare(flags))


def setns(handle: int, kind: int) -> None:
    _check(_libc().setns(handle, kind))


def mount(
    source: str | None, target: str, kind: str | None = None, flags: int = 0, data: str | None = None
) -> None:
    words = [word.encode() if word is not None else None for word in (source, target, kind, data)]
    _check(_libc().mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]))


def bind(source: str, target: str) -> None:
    """The same files at another place, read-only."""
    try:
        mount(source, target, None, MS_BIND)
    except OSError:
        mount(
            source, target, None, MS_BIND | MS_REC
        )  # where parts of it are mounts that may not be uncovered
    flags = os.statvfs(target).f_flag
    kept = flags & (MS_NOSUID | MS_NODEV | MS_NOEXEC | _MS_NOATIME | _MS_NODIRATIME)
    kept |= _MS_RELATIME if flags & 4096 else 0
    mount(None, target, None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | kept)


def umount(target: str) -> None:
    _check(_libc().umount2(target.encode(), MNT_DETACH))


def pivot_root(new_root: str) -> None:
    """Makes a mounted folder the root; what was the root is no longer anywhere."""
    os.chdir(new_root)
    _syscall(_by_machine(_PIVOT_ROOT), b".", b".")
    umount(".")
    os.chdir("/")


def bar_capabilities() -> None:
    """For good: from now on no program that is started is given any."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last one, or none to drop


def drop_capabilities() -> None:
    """All that this process has itself."""
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
    nothing = ctypes.create_string_buffer(struct.pack("6I", 0, 0, 0, 0, 0, 0))
    _check(_libc().capset(header, nothing))


# Landlock: which files a process may still open

_READ = 1 << 2 | 1 << 3 | 1 << 0
"""Read files, list folders, execute."""
_FOR_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
_SCOPES = 1 | 2
"""Abstract sockets and signals: to processes inside only."""


def landlock_version() -> int:
    """0 where the kernel has none, or where it is switched off."""
    try:
        return _syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except OSError:
        return 0


def confine_files(readable: list[str], writable: list[str], *, bind_and_connect: bool = True) -> None:
    """From now on only these can be read and these written, by this process and all it starts."""
    version = landlock_version()
    handled = (1 << 13) - 1
    handled |= (
        (1 << 13 if version >= 2 else 0) | (1 << 14 if version >= 3 else 0) | (1 << 15 if version >= 5 else 0)
    )
    scopes = _SCOPES if version >= 6 else 0
    ports = 3 if version >= 4 and not bind_and_connect else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = struct.pack("QQQ", handled, ports, scopes)[:size]
    ruleset = _syscall(
        _LANDLOCK_CREATE, ctypes.create_string_buffer(rules, size), ctypes.c_size_t(size), ctypes.c_uint32(0)
    )
    try:
        for paths, access in ((readable, _READ), (writable, handled)):
            for path in paths:
                _allow(ruleset, path, access)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        _syscall(_LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    try:
        if not os.path.isdir(path):  # noqa: PTH112 - early, few imports
            access &= _FOR_FILES
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access, handle), 12)
        _syscall(_LANDLOCK_ADD, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))
    finally:
        os.close(handle)


# Seccomp: which system calls a process may still make


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install_filter(instructions: bytes, *, listens: bool = False) -> int:
    """From now on the filter decides over each call. With `listens`: a handle for the calls it asks about."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = _Program(len(instructions) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    flags = ctypes.c_uint(8 if listens else 0)
    return _syscall(_by_machine(_SECCOMP), ctypes.c_uint(1), flags, ctypes.byref(program))


def has_filters() -> bool:
    """Whether filters, and answering for a process, are known to this kernel and this module."""
    if MACHINE not in _SECCOMP:
        return False
    try:
        asks = ctypes.c_uint32(0x7FC00000)
        _syscall(_SECCOMP[MACHINE], ctypes.c_uint(2), ctypes.c_uint(0), ctypes.byref(asks))
    except OSError:
        return False
    return True


# Looking into another process


def take_handle(pid: int, handle: int) -> int:
    """A copy of another process's file handle. Newer kernels take a thread's number as well."""
    try:
        process = _syscall(_PIDFD_OPEN, ctypes.c_int(pid), ctypes.c_uint(os.O_EXCL))
    except OSError:
        process = _syscall(_PIDFD_OPEN, ctypes.c_int(_leader(pid)), ctypes.c_uint(0))
    try:
        return _syscall(_PIDFD_GETFD, ctypes.c_int(process), ctypes.c_int(handle), ctypes.c_uint(0))
    finally:
        os.close(process)


def _leader(thread: int) -> int:
    """The process that a thread belongs to."""
    with open(f"/proc/{thread}/status") as file:  # noqa: PTH123 - few imports
        found = [line.split()[1] for line in file if line.startswith("Tgid:")]
    return int(found[0]) if found else thread


class _Span(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("length", ctypes.c_size_t))


def read_memory(pid: int, address: int, size: int) -> bytes:
    buffer = ctypes.create_string_buffer(size)
    read = _copy_memory(_PROCESS_VM_READV, pid, buffer, address, size)
    return buffer.raw[:read]


def write_memory(pid: int, address: int, data: bytes) -> None:
    _copy_memory(_PROCESS_VM_WRITEV, pid, ctypes.create_string_buffer(data, len(data)), address, len(data))


def _copy_memory(numbers: dict[str, int], pid: int, buffer: Any, address: int, size: int) -> int:
    here = _Span(ctypes.cast(buffer, ctypes.c_void_p), size)
    there = _Span(address, size)
    one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
    number = _by_machine(numbers)
    return _syscall(number, ctypes.c_int(pid), ctypes.byref(here), one, ctypes.byref(there), one, none)

"""Which system calls a tool may make: a program for the kernel's filter, put together from short lists.

What no tool needs and attacks do is refused; all else passes. Standard library only.
"""

import errno
import struct

from remanence.sandbox.kernel import MACHINE

_ALLOW, _ASK, _KILL = 0x7FFF0000, 0x7FC00000, 0x80000000
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_FORBIDDEN = {
    "x86_64": (
        101, 310, 311, 438, 312, 134, 139, 153, 155, 161, 163, 165, 166, 167, 168, 169, 172, 173, 175, 176,
        179, 212, 246, 248, 249, 250, 272, 298, 300, 301, 303, 304, 308, 313, 320, 321, 323, 428, 429, 430,
        431, 432, 433, 442, 443, 180, 156, 136, 425, 426, 427,
    ),
    "aarch64": (
        117, 270, 271, 438, 272, 41, 51, 89, 40, 39, 224, 225, 142, 105, 106, 104, 60, 18, 217, 218, 219, 97,
        241, 262, 263, 264, 265, 268, 273, 280, 294, 282, 428, 429, 430, 431, 432, 433, 442, 443, 42, 425,
        426, 427,
    ),
}  # fmt: skip
"""By their numbers, in no order: looking into and steering other processes (ptrace, process_vm_*, pidfd_getfd,
kcmp), mounts and namespaces (mount, umount2, pivot_root, chroot, unshare, setns, open_tree, move_mount, fs*,
mount_setattr), handles past all paths (name_to_handle_at, open_by_handle_at), the kernel and the machine (bpf,
perf_event_open, userfaultfd, *_module, kexec_*, reboot, swap*, acct, quotactl*, iopl, ioperm, fanotify_init,
keys), and io_uring, which makes calls that no filter sees."""

_CALLS = {
    "x86_64": {"clone": 56, "clone3": 435, "socket": 41, "connect": 42, "sendto": 44, "sendmsg": 46, "sendmmsg": 307,
               "kill": 62, "tkill": 200, "tgkill": 234, "pidfd_send_signal": 424, "ioctl": 16},
    "aarch64": {"clone": 220, "clone3": 435, "socket": 198, "connect": 203, "sendto": 206, "sendmsg": 211,
                "sendmmsg": 269, "kill": 129, "tkill": 130, "tgkill": 131, "pidfd_send_signal": 424, "ioctl": 29},
}  # fmt: skip
_NEW_NAMESPACES = 0x7E020000
_FAMILIES = (1, 2, 10, 16)
"""Unix, IPv4, IPv6, and netlink, by which programs learn the machine's addresses."""
_TIOCSTI = 0x5412

_NUMBER, _MACHINE = 0, 4


def numbers() -> dict[str, int]:
    return _CALLS[MACHINE]


def build_filter(*, network: str, may_fork: bool, may_signal: bool, own_pid: int | None = None) -> bytes:
    """`network` is "open", "asked" (each connection is asked about) or "none".

    `own_pid`: where signals to others are not fenced otherwise, the one process that may be signalled.
    """
    calls = _CALLS[MACHINE]
    parts = [
        _load(_MACHINE),
        _unless(_ARCH[MACHINE], [_give(_KILL)]),
        _load(_NUMBER),
    ]
    if MACHINE == "x86_64":  # the second numbering of calls, which would pass all lists
        parts.append(_op(0x35, 0, 1, 0x40000000))
        parts.append(_give(_KILL))
    parts += [_when(number, [_refuse(errno.EPERM)]) for number in _FORBIDDEN[MACHINE]]
    parts.append(
        _when(calls["clone3"], [_refuse(errno.ENOSYS)])
    )  # its flags cannot be seen; clone is used then
    if MACHINE == "x86_64" and not may_fork:
        parts += [_when(number, [_refuse(errno.EAGAIN)]) for number in (57, 58)]
    parts.append(_when(calls["clone"], _clone_rules(may_fork)))
    parts.append(
        _when(calls["ioctl"], [_load(16 + 8), _when(_TIOCSTI, [_refuse(errno.EPERM)]), _give(_ALLOW)])
    )
    if network == "none":
        parts.append(_when(calls["socket"], [_refuse(errno.EACCES)]))
    else:
        families = [_when(family, [_give(_ALLOW)]) for family in _FAMILIES]
        parts.append(_when(calls["socket"], [_load(16), *families, _refuse(errno.EAFNOSUPPORT)]))
    if network == "asked":
        for name in ("connect", "sendmsg", "sendmmsg"):
            parts.append(_when(calls[name], [_give(_ASK)]))
        # Without an address it goes where the socket was connected to, which was asked about before.
        parts.append(
            _when(calls["sendto"], [_load(16 + 8 * 4), _unless(0, [_give(_ASK)]), _load(16 + 8 * 4 + 4),
                                    _unless(0, [_give(_ASK)]), _give(_ALLOW)])
        )  # fmt: skip
    if not may_signal:
        allowed = [_when(own_pid, [_give(_ALLOW)])] if own_pid is not None else []
        for name in ("kill", "tkill", "tgkill"):
            parts.append(_when(calls[name], [_load(16), *allowed, _refuse(errno.EPERM)]))
        parts.append(_when(calls["pidfd_send_signal"], [_refuse(errno.EPERM)]))
    parts.append(_give(_ALLOW))
    return b"".join(parts)


def _clone_rules(may_fork: bool) -> list[bytes]:
    rules = [_load(16), _op(0x45, 0, 1, _NEW_NAMESPACES), _refuse(errno.EPERM)]
    if not may_fork:  # threads alone
        rules += [_op(0x45, 1, 0, 0x00010000), _refuse(errno.EAGAIN)]
    return [*rules, _give(_ALLOW)]


def _op(code: int, yes: int, no: int, value: int) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def _load(offset: int) -> bytes:
    return _op(0x20, 0, 0, offset)


def _give(verdict: int) -> bytes:
    return _op(0x06, 0, 0, verdict)


def _refuse(number: int) -> bytes:
    return _give(0x00050000 | number)


def _when(value: int, then: list[bytes]) -> bytes:
    """If what was loaded is the value, do this; else go on after it."""
    body = b"".join(then)
    return _op(0x15, 0, len(body) // 8, value) + body


def _unless(value: int, then: list[bytes]) -> bytes:
    body = b"".join(then)
    return _op(0x15, len(body) // 8, 0, value) + body

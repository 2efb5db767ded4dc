"""Where a tool with a network may connect to: not to this machine, nor to link-local and metadata addresses.

The kernel stops each connection of the tool and asks; this process looks at the address, makes the connection
itself on the tool's own socket, and hands back the outcome. The tool cannot change the address in between,
because it is never read again. Standard library only.
"""

import contextlib
import ctypes
import errno
import fcntl
import ipaddress
import json
import os
import select
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remanence.kit.addresses import Address, is_no_metadata, unwrapped
from remanence.sandbox import filters, kernel

_RECEIVE, _SEND, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
_MAX_ADDRESS = 128
_MAX_SENT = 1 << 20
_MAX_PARTS = 1024


def serve_guard(orders: socket.socket) -> None:
    """One guard for all calls: each is announced with its process and a socket to it."""
    waiting = select.poll()
    waiting.register(orders, select.POLLIN)
    guards: dict[int, Guard] = {}
    while True:
        for handle, event in waiting.poll():
            if handle in guards and event & select.POLLIN:
                guards[handle].take_one()
            elif handle in guards:  # nobody is left who could ask
                waiting.unregister(handle)
                guards.pop(handle).close()
            else:
                message, handles, _, _ = socket.recv_fds(orders, 65536, 1)
                if not message:
                    return
                guard = _begin(json.loads(message), handles[0])
                if guard is not None:
                    guards[guard.listener] = guard
                    waiting.register(guard.listener, select.POLLIN)


def _begin(order: dict[str, Any], handle: int) -> "Guard | None":
    with socket.socket(fileno=handle) as tool:
        number = tool.recv(16)
        if not number.isdigit():
            return None  # it ended before it came to this
        try:
            listener = kernel.take_handle(order["process"], int(number))
        except OSError:
            return None
        tool.send(b"!")
    return Guard(listener, {(str(host), int(port)) for host, port in order["granted"]})


class Guard:
    """Answers for one call. `granted` are addresses and ports of this machine that it may use."""

    def __init__(self, listener: int, granted: set[tuple[str, int]]) -> None:
        self.listener = listener
        self._granted = granted
        self._nameservers = _read_nameservers()
        self._libc: Any = ctypes.CDLL(None, use_errno=True)
        numbers = filters.numbers()
        self._answers: dict[int, Callable[[int, list[int]], int]] = {
            numbers["connect"]: self._connect,
            numbers["sendto"]: self._send_to,
            numbers["sendmsg"]: self._send_message,
            numbers["sendmmsg"]: self._send_messages,
        }

    def close(self) -> None:
        os.close(self.listener)

    def take_one(self) -> None:
        buffer = bytearray(80)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, buffer)
        except OSError:
            return  # whoever asked is gone
        id, pid, _, number, _, _, *args = struct.unpack("QIIiIQ6Q", buffer)
        # One thread each: a connection may take long, and others must not wait for it.
        threading.Thread(target=self._answer, args=(id, pid, number, args), daemon=True).start()

    def _answer(self, id: int, pid: int, number: int, args: list[int]) -> None:
        try:
            value, fault = self._answers[number](pid, args), 0
        except OSError as error:
            value, fault = 0, -(error.errno or errno.EACCES)
        except Exception:
            value, fault = 0, -errno.EACCES
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.listener, _SEND, struct.pack("QqiI", id, value, fault, 0))

    def _connect(self, pid: int, args: list[int]) -> int:
        address = self._read_address(pid, args[1], args[2])
        with _borrowed(pid, args[0]) as handle:
            return self._checked(self._libc.connect(handle, address, ctypes.c_uint(len(address))))

    def _send_to(self, pid: int, args: list[int]) -> int:
        address = self._read_address(pid, args[4], args[5])
        data = kernel.read_memory(pid, args[1], min(args[2], _MAX_SENT)) if args[2] else b""
        with _borrowed(pid, args[0]) as handle:
            return self._send(handle, data, args[3], address)

    def _send_message(self, pid: int, args: list[int]) -> int:
        with _borrowed(pid, args[0]) as handle:
            return self._send_one(pid, handle, args[1], args[2])

    def _send_messages(self, pid: int, args: list[int]) -> int:
        sent = 0
        with _borrowed(pid, args[0]) as handle:
            for place in range(min(args[2], _MAX_PARTS)):
                header = args[1] + place * 64
                try:
                    count = self._send_one(pid, handle, header, args[3])
                except OSError:
                    if not sent:
                        raise
                    break
                kernel.write_memory(pid, header + 56, struct.pack("I", count))
                sent += 1
        return sent

    def _send_one(self, pid: int, handle: int, header: int, flags: int) -> int:
        name, name_size, parts, count, _, control_size, _ = struct.unpack(
            "QI4xQQQQi4x", kernel.read_memory(pid, header, 56)
        )
        if control_size or count > _MAX_PARTS:
            raise PermissionError(errno.EPERM, "handles are not passed on")
        address = self._read_address(pid, name, name_size) if name else b""
        spans = kernel.read_memory(pid, parts, 16 * count) if count else b""
        data = b""
        for start, size in struct.iter_unpack("QQ", spans):
            size = min(size, _MAX_SENT - len(data))
            data += kernel.read_memory(pid, start, size) if size else b""
        return self._send(handle, data, flags, address)

    def _send(self, handle: int, data: bytes, flags: int, address: bytes) -> int:
        chosen = ctypes.c_int(flags & 0x7FFFFFFF | 0x4000)  # no signal for a closed connection
        size = ctypes.c_uint(len(address))
        return self._checked(
            self._libc.sendto(handle, data, ctypes.c_size_t(len(data)), chosen, address or None, size)
        )

    def _checked(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result

    def _read_address(self, pid: int, start: int, size: int) -> bytes:
        """Raises PermissionError for an address that is closed to tools."""
        raw = kernel.read_memory(pid, start, min(size, _MAX_ADDRESS))
        if not self.permits(raw):
            raise PermissionError(errno.EACCES, "this address is closed to tools")
        return raw

    def permits(self, raw: bytes) -> bool:
        family = struct.unpack_from("H", raw)[0] if len(raw) >= 2 else -1
        if family == socket.AF_UNSPEC:
            return True  # takes a connection back
        if family == socket.AF_INET and len(raw) >= 8:
            address: Address = ipaddress.IPv4Address(raw[4:8])
        elif family == socket.AF_INET6 and len(raw) >= 24:
            address = unwrapped(ipaddress.IPv6Address(raw[8:24]))
        else:
            return False
        port = struct.unpack_from("!H", raw, 2)[0]
        if (str(address), port) in self._granted or (port == 53 and str(address) in self._nameservers):
            return True
        return not is_closed(address)


def is_closed(address: Address) -> bool:
    if address.is_loopback or address.is_unspecified or address.is_multicast:
        return True
    return not is_no_metadata(address) or _is_own(address)


def _is_own(address: Address) -> bool:
    """Whether the address is one of this machine's: only such a one can be listened on."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


def _read_nameservers() -> set[str]:
    try:
        lines = Path("/etc/resolv.conf").read_text().splitlines()
    except OSError:
        return set()
    return {words[1] for line in lines if len(words := line.split()) > 1 and words[0] == "nameserver"}


class _borrowed:  # noqa: N801 - reads as a verb where it is used
    """A copy of a handle of another process, given back at the end."""

    def __init__(self, pid: int, handle: int) -> None:
        self._handle = kernel.take_handle(pid, handle & 0xFFFFFFFF)

    def __enter__(self) -> int:
        return self._handle

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

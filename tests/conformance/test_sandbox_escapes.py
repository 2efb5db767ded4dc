"""Attacks on the fence, at each of its levels: what a tool must not reach, it does not reach."""

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.sandboxes import LEVELS, SharedSandbox

from remanence.sandbox.call import Job
from remanence.sandbox.levels import choose_level
from remanence.sandbox.runner import SandboxSettings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these fences")

SECRET = "the-key-that-nobody-may-see"
SETTINGS = SandboxSettings(
    has_network=True, timeout_s=20, memory_bytes=256 << 20, processes=16, open_files=64, file_bytes=4 << 20
)
IS_ROOT = os.geteuid() == 0
KERNEL = {"namespaces", "landlock"}
"""Levels at which the kernel keeps the fence."""
ALWAYS = {*KERNEL, "limits"}
EVERY = ALWAYS if IS_ROOT else KERNEL
"""Where a server that runs as root also runs tools as somebody else."""

PRELUDE = """
import ctypes, os, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def seen(path):
    try:
        with open(path, 'rb') as file:
            return file.read(100_000)
    except OSError as error:
        return repr(error).encode()
def attempt(*work):
    for each in work:
        try:
            found = each()
        except (OSError, RuntimeError, ImportError, ValueError, MemoryError) as error:
            print(repr(error))
            continue
        if found is not None and found is not False:
            return f'ESCAPED {found!r}'
    return 'fenced'
"""

ATTACKS: dict[str, tuple[set[str], str]] = {
    "reads the key file": (EVERY, "attempt(lambda: SECRET.encode() in seen(KEY) or None)"),
    "reads the key file through a symbolic link": (
        EVERY,
        "attempt(lambda: os.symlink(KEY, 'link'), lambda: SECRET.encode() in seen('link') or None)",
    ),
    "reads the key file through a hard link": (
        EVERY,
        "attempt(lambda: os.link(KEY, 'hard'), lambda: SECRET.encode() in seen('hard') or None)",
    ),
    "walks up to the key file": (
        EVERY,
        "attempt(lambda: SECRET.encode() in seen('../' * 30 + KEY) or None)",
    ),
    "goes through the root of another process": (
        EVERY,
        "attempt(*(lambda p=p: SECRET.encode() in seen(f'/proc/{p}/root{KEY}') or None for p in ('self', 1, SERVER)))",
    ),
    "reads the database": (EVERY, "attempt(lambda: SECRET.encode() in seen(DATABASE) or None)"),
    "lists the data folder": (EVERY, "attempt(lambda: 'secret.key' in os.listdir(FOLDER) or None)"),
    "opens a handle past all paths": (
        KERNEL,
        "attempt(lambda: libc.syscall(304, -100, 0, 0) >= 0 or None)",
    ),
    "finds the server's variables in its own environment": (
        ALWAYS,
        "attempt(lambda: os.environ.get('SERVER_SECRET'), lambda: b'SERVER_SECRET' in seen('/proc/self/environ') or None)",
    ),
    "reads the environment of the server": (
        EVERY,
        "attempt(lambda: b'=' in seen(f'/proc/{SERVER}/environ') or None, lambda: b'=' in seen(f'/proc/{os.getppid()}/environ') or None)",
    ),
    "reads the memory of the server": (
        EVERY,
        "attempt(lambda: open(f'/proc/{SERVER}/mem', 'rb') and 'mem')",
    ),
    "reads another process's memory by a system call": (
        EVERY,
        "attempt(lambda: libc.syscall(310, SERVER, ctypes.byref((ctypes.c_size_t * 2)()), 1, ctypes.byref((ctypes.c_size_t * 2)()), 1, 0) >= 0 or None)",
    ),
    "traces the server": (EVERY, "attempt(lambda: libc.ptrace(16, SERVER, 0, 0) == 0 or None)"),
    "signals the server": (EVERY, "attempt(lambda: os.kill(SERVER, 0) is None)"),
    "signals its parent": (EVERY, "attempt(lambda: os.getppid() > 1 and os.kill(os.getppid(), 0) is None)"),
    "finds another call's scratch": (
        EVERY,
        "attempt(*(lambda f=f: b'left by another' in seen(f) or None for f in [OTHER, '/tmp/note.txt', '/scratch/note.txt', *(os.path.join(d, 'note.txt') for d, _, _ in os.walk('/tmp'))]))",
    ),
    "writes into the system": (
        ALWAYS,
        "attempt(*(lambda p=p: open(p, 'a') and p for p in ('/etc/passwd', '/usr/bin/env', '/usr/x', '/bin/x', '/etc/x')))",
    ),
    "writes into installed packages": (
        EVERY,
        "attempt(*(lambda p=p: open(os.path.join(p, 'evil.pth'), 'w') and p for p in (*sys.path[1:], ENVIRONMENTS) if os.path.isdir(p) and not p.startswith(os.getcwd())))",
    ),
    "reads raw devices": (
        ALWAYS,
        "attempt(*(lambda p=p: open(p, 'rb').read(1) and p for p in ('/dev/mem', '/dev/kmsg', '/dev/vda', '/dev/sda', '/dev/nvme0n1')))",
    ),
    "changes the kernel's settings": (
        ALWAYS,
        "attempt(lambda: open('/proc/sys/kernel/hostname', 'w').write('mine'))",
    ),
    "becomes root": (ALWAYS, "attempt(lambda: os.setuid(0) is None, lambda: os.setresuid(0, 0, 0) is None)"),
    "mounts something": (
        ALWAYS,
        "attempt(lambda: libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0 or None)",
    ),
    "uncovers what is mounted over": (
        ALWAYS,
        "attempt(lambda: libc.umount2(b'/proc', 2) == 0 or None, lambda: libc.umount2(b'/tmp', 2) == 0 or None)",
    ),
    "makes namespaces of its own": (
        KERNEL,
        "attempt(lambda: libc.unshare(0x10000000) == 0 or None, lambda: libc.unshare(0x20000) == 0 or None)",
    ),
    "changes its root": (ALWAYS, "attempt(lambda: os.chroot('/tmp') is None)"),
    "uses parts of the kernel that tools do not need": (
        KERNEL,
        "attempt(*(lambda n=n: libc.syscall(n, 0, 0, 0, 0, 0) >= 0 or None for n in (321, 298, 323, 425, 250)))",
    ),
    "opens a socket that no tool needs": (
        KERNEL,
        "attempt(*(lambda f=f: socket.socket(f, socket.SOCK_DGRAM) and f for f in (17, 38, 40)))",
    ),
    "connects to the server on loopback": (
        KERNEL,
        "attempt(*(lambda a=a: socket.create_connection((a, PORT), 2) and a for a in ('127.0.0.1', '127.8.8.8', '0.0.0.0', '::1', '::ffff:127.0.0.1', 'localhost')))",
    ),
    "connects to the machine by its own address": (
        KERNEL,
        "attempt(lambda: socket.create_connection((OWN, PORT), 2) and OWN)",
    ),
    "connects to the metadata service": (
        KERNEL,
        "attempt(*(lambda a=a: isinstance(refused(a), PermissionError) is False and a for a in ('169.254.169.254', '169.254.170.2', 'fe80::1', 'fd00:ec2::254', '::ffff:169.254.169.254')))",
    ),
    "sends datagrams to loopback": (
        KERNEL,
        "attempt(lambda: datagram().sendto(b'x', ('127.0.0.1', PORT)), lambda: datagram().sendmsg([b'x'], [], 0, ('127.0.0.1', PORT)))",
    ),
    "opens a connection with its first data": (
        KERNEL,
        "attempt(lambda: socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', PORT)))",
    ),
    "connects to a socket without a path": (
        KERNEL,
        "attempt(lambda: socket.socket(socket.AF_UNIX).connect('\\0' + ABSTRACT) is None)",
    ),
    "raises its limits": (
        ALWAYS,
        "attempt(lambda: __import__('resource').setrlimit(__import__('resource').RLIMIT_NPROC, (9999, 9999)) is None)",
    ),
    "fills the disk": (
        ALWAYS,
        "attempt(lambda: open('big', 'wb').write(b'x' * (8 << 20)) == 8 << 20 or None)",
    ),
}

HELPERS = """
def refused(address):
    try:
        socket.create_connection((address, 80), 0.5)
    except Exception as error:
        return error
    return None
def datagram():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
"""


class Target:
    """A server's belongings, as an attacker might know them."""

    def __init__(self, folder: Path) -> None:
        self.key = folder / "secret.key"
        self.database = folder / "remanence.sqlite3"
        for path in (self.key, self.database):
            path.touch(0o600)
            path.write_text(SECRET)
        folder.chmod(0o700)
        self.listener = socket.create_server(("0.0.0.0", 0))
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract_name = f"remanence-test-{os.getpid()}"
        self.abstract.bind("\0" + self.abstract_name)
        self.abstract.listen()
        self.folder = folder

    def known(self, other: str) -> str:
        known = {
            "SECRET": SECRET,
            "KEY": str(self.key),
            "DATABASE": str(self.database),
            "FOLDER": str(self.folder),
            "ENVIRONMENTS": str(self.folder / "environments"),
            "SERVER": os.getpid(),
            "PORT": self.listener.getsockname()[1],
            "OWN": _own_address(),
            "ABSTRACT": self.abstract_name,
            "OTHER": other,
        }
        return "".join(f"{name} = {value!r}\n" for name, value in known.items())

    def close(self) -> None:
        self.listener.close()
        self.abstract.close()


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return probe.getsockname()[0]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    found = Target(tmp_path_factory.mktemp("server"))
    os.environ["SERVER_SECRET"] = SECRET
    yield found
    del os.environ["SERVER_SECRET"]
    found.close()


@pytest.fixture(scope="module", params=LEVELS)
def fenced(request: pytest.FixtureRequest, target: Target) -> Iterator[SharedSandbox]:
    if choose_level(request.param)[0] != request.param:
        pytest.skip(f"this machine has no {request.param}")
    shared = SharedSandbox(
        target.folder, replace(SETTINGS, level=request.param), [target.key, target.database]
    )
    yield shared
    shared.close()


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_fence_holds_when_a_tool(fenced: SharedSandbox, target: Target, attack: str) -> None:
    levels, expression = ATTACKS[attack]
    if fenced.level not in levels:
        pytest.skip(f"the level {fenced.level} does not promise this")
    other = next(Path(tempfile.gettempdir()).glob("remanence-sandbox-*/note.txt"), Path("/nowhere"))
    source = f"{PRELUDE}{target.known(str(other))}{HELPERS}\ndef attack():\n    return {expression}\n"
    outcome = fenced.run(source)
    assert outcome.succeeded, f"{outcome.text}\n{outcome.stderr}"
    assert outcome.text == "fenced", outcome.text[:500]


def test_calls_do_not_find_each_others_scratch(fenced: SharedSandbox) -> None:
    if fenced.level not in EVERY:
        pytest.skip("tools of one user see each other")
    waits = """
def attack():
    import sys
    open('note.txt', 'w').write('left by another')
    hold()
"""
    looks = f"{PRELUDE}\ndef attack():\n    return {ATTACKS[next(name for name in ATTACKS if 'scratch' in name)][1]}\n"
    looks = looks.replace("[OTHER, ", "[")

    async def both() -> str:
        found: list[str] = []

        async def look(_name: str, _args: object) -> tuple[bool, str]:
            outcome = await fenced.sandbox.run(Job("function", source=looks, name="attack"))
            found.append(outcome.text)
            return True, ""

        await fenced.sandbox.run(Job("function", source=waits, name="attack", tools=["hold"]), on_call=look)
        return found[0]

    assert fenced.do(both()) == "fenced"


def test_nothing_a_call_did_to_its_interpreter_is_there_in_the_next(fenced: SharedSandbox) -> None:
    poison = """
def attack():
    import builtins, json, sys
    json.loads = builtins.open = None
    sys.meta_path.insert(0, None)
    sys.modules['math'] = None
    open_ = __import__('os').open('json.py', 66)
    return 'done'
"""
    assert fenced.run(poison).text == "done"
    clean = "def attack():\n    import json, math, os\n    open('x', 'w')\n    return json.loads('[1]'), os.listdir()\n"
    assert fenced.run(clean).value == [[1], ["x"]]


def test_a_result_is_data_and_is_never_unpickled(fenced: SharedSandbox, tmp_path: Path) -> None:
    source = f"""
class Evil:
    def __reduce__(self):
        return (open, ({str(tmp_path / "pwned")!r}, 'w'))
def attack():
    return {{'a': Evil()}}
"""
    outcome = fenced.run(source)
    assert outcome.succeeded
    assert "Evil object" in outcome.text
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    "frame",
    ["b'\\xff\\xff\\xff\\xff'", "b'\\0\\0\\0\\5hello'", "b'\\0\\0\\0\\4[1,2'", "b'\\0\\0\\0\\2[]'", "b'x'"],
)
def test_a_forged_result_is_an_error_and_harms_nobody(fenced: SharedSandbox, frame: str) -> None:
    outcome = fenced.run(f"import os\ndef attack():\n    os.write(3, {frame})\n    os._exit(0)\n")
    assert not outcome.succeeded
    assert fenced.run("def attack():\n    return 'fine'").text == "fine"


def test_without_the_network_nothing_is_reached(target: Target) -> None:
    for level in LEVELS[:2]:
        if choose_level(level)[0] != level:
            continue
        shared = SharedSandbox(target.folder, replace(SETTINGS, level=level, has_network=False), [])
        try:
            connects = "socket.create_connection(('127.0.0.1', PORT), 2)"
            source = f"{PRELUDE}{target.known('')}\ndef attack():\n    return attempt(lambda: {connects})\n"
            assert shared.run(source).text == "fenced"
            granted = [("127.0.0.1", target.listener.getsockname()[1])]
            assert "ESCAPED" in shared.run(source, granted=granted).text
        finally:
            shared.close()

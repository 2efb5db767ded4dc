"""Tools that misbehave: each is an error in bounded time, and the next call does not notice."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.sandboxes import LEVELS, SharedSandbox

from remanence.sandbox.call import Job
from remanence.sandbox.levels import choose_level
from remanence.sandbox.runner import SandboxSettings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these fences")

OWN_SLEEP = 1_000_000 + os.getpid()
"""How long what is left behind would sleep: nobody else sleeps that long."""
SETTINGS = SandboxSettings(
    has_network=False, timeout_s=20, memory_bytes=256 << 20, processes=16, open_files=64, file_bytes=4 << 20
)


@pytest.fixture(scope="module", params=LEVELS)
def fenced(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedSandbox]:
    if choose_level(request.param)[0] != request.param:
        pytest.skip(f"this machine has no {request.param}")
    folder = tmp_path_factory.mktemp("sandbox")
    shared = SharedSandbox(folder, replace(SETTINGS, level=request.param), [])
    yield shared
    shared.close()


HOSTILE: dict[str, tuple[str, str]] = {
    "hangs": ("while True: pass", "stopped after"),
    "sleeps": ("import time; time.sleep(1000)", "stopped after"),
    "ignores signals and hangs": (
        "import signal, time\n    for n in (1, 2, 3, 15): signal.signal(n, signal.SIG_IGN)\n    time.sleep(1000)",
        "stopped after",
    ),
    "forks without end": (
        "import os\n    made = 0\n    while True:\n        if os.fork() == 0:\n            import time; time.sleep(1000)",
        "BlockingIOError",
    ),
    "eats memory": ("x = []\n    while True: x.append(bytearray(1 << 24))", "MemoryError"),
    "prints a gigabyte": ("while True: print('x' * 65536)", "printed more than"),
    "writes a gigabyte to stderr": (
        "import os\n    while True: os.write(2, b'x' * 65536)",
        "printed more than",
    ),
    "exits": ("import sys; sys.exit(3)", "exit(3)"),
    "exits at once": ("import os; os._exit(7)", "exit code 7"),
    "crashes": ("import ctypes; ctypes.string_at(0)", "crashed"),
    "kills itself": ("import os, signal; os.kill(os.getpid(), 9); raise SystemError('still here')", ""),
    "closes everything": ("import os; os.closerange(0, 50)", "without a return"),
    "fills the disk": ("open('x', 'wb').write(b'x' * (64 << 20))", "OSError"),
    "opens many files": ("keep = [open('/dev/null') for _ in range(1000)]", "OSError"),
    "returns without end": ("return 'x' * (30 << 20)", "MiB"),
    "recurses": ("def f(): return f()\n    f()", "RecursionError"),
    "raises in its own way": (
        "class E(Exception):\n        def __str__(self): raise ValueError\n    raise E",
        "",
    ),
}


@pytest.mark.parametrize("habit", HOSTILE)
def test_the_server_goes_on_when_a_tool(fenced: SharedSandbox, habit: str) -> None:
    body, word = HOSTILE[habit]
    limit = 1.0 if word == "stopped after" else 15.0
    outcome = fenced.run(f"def attack():\n    {body}\n", timeout_s=limit)
    assert not outcome.succeeded, outcome
    assert word in outcome.text
    assert fenced.run("def attack():\n    return 'fine'").text == "fine"


def test_what_closes_its_output_can_still_return(fenced: SharedSandbox) -> None:
    outcome = fenced.run(
        "import os, sys\ndef attack():\n    sys.stdout.close(); os.close(1)\n    return 'done'\n"
    )
    assert (outcome.succeeded, outcome.text) == (True, "done")


def test_what_was_printed_is_kept_and_cut_with_a_note(fenced: SharedSandbox) -> None:
    source = (
        "import sys\ndef attack():\n    print('a' * 400_000); print('b', file=sys.stderr)\n    return 1\n"
    )
    outcome = fenced.run(source)
    assert outcome.stdout.startswith("aaa")
    assert "more bytes were printed and cut off" in outcome.stdout[-100:]
    assert outcome.stderr == "b\n"


def test_a_cancelled_call_is_gone_with_all_it_started(fenced: SharedSandbox, tmp_path: Path) -> None:
    source = f"import subprocess\ndef attack():\n    subprocess.Popen(['sleep', '{OWN_SLEEP}'])\n    hold()\n"

    async def cancel() -> None:
        started = asyncio.Event()

        async def hold(_name: str, _args: object) -> tuple[bool, str]:
            started.set()
            await asyncio.sleep(1000)
            return True, ""

        job = Job("function", source=source, name="attack", tools=["hold"])
        call = asyncio.ensure_future(fenced.sandbox.run(job, on_call=hold))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await fenced.sandbox.settle()

    fenced.do(cancel())
    assert not [each for each in _commands() if each == b"sleep\x00%d\x00" % OWN_SLEEP]


def test_what_a_call_leaves_running_ends_with_it(fenced: SharedSandbox) -> None:
    source = f"""
import os, time
def attack():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv('/bin/sleep', ['sleep', '{OWN_SLEEP}'])
        os._exit(0)
    return 'left'
"""
    assert fenced.run(source).text == "left"
    fenced.do(fenced.sandbox.settle())
    deadline = time.monotonic() + 5  # one that was killed is seen until its parent has taken notice
    while any(each == b"sleep\x00%d\x00" % OWN_SLEEP for each in _commands()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_no_scratch_is_left_behind(fenced: SharedSandbox) -> None:
    source = """
import os
def attack():
    os.makedirs('a/b'); open('a/b/c', 'w').write('x'); os.chmod('a/b', 0); os.chmod('a', 0)
    os.symlink('/etc', 'link')
    return os.getcwd()
"""
    folder = fenced.run(source).text
    fenced.do(fenced.sandbox.settle())
    assert folder == "/scratch" or not Path(folder).exists()


def test_a_scratch_that_was_swapped_for_a_link_is_not_followed(fenced: SharedSandbox, tmp_path: Path) -> None:
    inner = tmp_path / "victim" / "inner"
    inner.mkdir(parents=True)
    for folder in (tmp_path, inner.parent, inner):
        folder.chmod(0o755)
    (inner / "file").touch()
    source = f"""
import os
def attack():
    own = os.getcwd()
    try:
        os.rename(own, own + '-moved')
        os.symlink({str(inner.parent)!r}, own)
    except OSError as error:
        return 'refused'
    return own
"""
    own = fenced.run(source).text
    fenced.do(fenced.sandbox.settle())
    assert (inner / "file").is_file()
    assert inner.stat().st_mode & 0o777 == 0o755, "nor is anything changed where it leads to"
    if own != "refused":
        Path(own).unlink()
        Path(f"{own}-moved").rmdir()


def test_calls_that_come_together_are_all_served(fenced: SharedSandbox) -> None:
    async def many() -> list[str]:
        job = [Job("function", source="def f(n):\n    return n", name="f", args={"n": n}) for n in range(50)]
        return [each.text for each in await asyncio.gather(*map(fenced.sandbox.run, job))]

    assert fenced.do(many()) == [str(n) for n in range(50)]


def test_a_zygote_that_dies_is_replaced(fenced: SharedSandbox) -> None:
    assert fenced.run("def attack():\n    return 'one'").text == "one"
    zygote = fenced.sandbox.zygote_pid
    assert zygote is not None

    async def kill_in_the_middle() -> str:
        async def kill(_name: str, _args: object) -> tuple[bool, str]:
            os.kill(zygote, 9)
            await asyncio.sleep(1000)
            return True, ""

        job = Job("function", source="def attack():\n    kill()", name="attack", tools=["kill"])
        return (await fenced.sandbox.run(job, on_call=kill)).text

    assert "not known" in fenced.do(kill_in_the_middle())
    assert fenced.run("def attack():\n    return 'two'").text == "two"


def _commands() -> list[bytes]:
    found: list[bytes] = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(each.read_bytes())
        except OSError:
            continue
    return found

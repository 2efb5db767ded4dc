"""The zygote: a small warm interpreter that forks one process per call.

It is started by the server, but shares nothing with it: no environment, no handles but its own. It reads
orders from a socket and reports what has ended; what a call is and what came of it goes past it, through
handles of the call's own. Standard library only.
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from remanence.sandbox import fence, kernel
from remanence.sandbox.fence import Limits, Setup
from remanence.sandbox.guard import serve_guard
from remanence.sandbox.inside import rehearse, run_job
from remanence.sandbox.levels import become_first_process, choose_level, enter_namespace_of_zygote
from remanence.sandbox.private_folders import KEPT_HANDLES, open_private_folders

_PRELOADED = (
    "asyncio", "base64", "collections", "concurrent.futures", "copy", "csv", "dataclasses", "datetime", "decimal",
    "enum", "functools", "hashlib", "html", "http.client", "inspect", "io", "itertools", "math", "random", "re",
    "ssl", "statistics", "string", "subprocess", "tempfile", "textwrap", "threading", "time", "typing",
    "urllib.parse", "urllib.request", "uuid", "encodings.idna",
)  # fmt: skip
"""What tools import most: found ready in each call."""
_SWEEPS = 200
_SWEEP_PAUSE_S = 0.005
_COUNT_EVERY_S = 2.0


@dataclass
class Call:
    id: int
    slot: int
    uid: int | None
    scratch: str | None
    code: int = 0


class Zygote:
    def __init__(self, orders: socket.socket, setup: Setup, level: str, first_uid: int) -> None:
        self._first_uid = first_uid
        self._orders = orders
        self._setup = setup
        self._level = level
        self._calls: dict[int, Call] = {}
        self._sweeping: dict[int, Call] = {}
        """Both by their process."""
        self._counted = (0, -_COUNT_EVERY_S)
        self._guard: tuple[int, socket.socket] | None = None
        self._own_processes = os.open("/proc/self/ns/pid", os.O_RDONLY) if level == "namespaces" else -1
        self._wake, wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _notice)

    def serve(self, lifeline: int) -> None:
        """Until the server is gone, or hangs up."""
        waiting = select.poll()
        for handle in (self._orders.fileno(), self._wake, lifeline):
            waiting.register(handle, select.POLLIN)
        try:
            while True:
                ready = dict(waiting.poll())
                if lifeline in ready:
                    return
                if self._wake in ready:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake, 4096)
                self._reap()
                if self._orders.fileno() in ready and not self._obey():
                    return
        except (ConnectionError, BrokenPipeError):
            return
        finally:
            for process in (*self._calls, *([self._guard[0]] if self._guard else [])):
                os.kill(process, signal.SIGKILL)
            for call in (*self._calls.values(), *self._sweeping.values()):
                if call.scratch is not None:
                    fence.remove_host_scratch(call.scratch)

    def _obey(self) -> bool:
        message, handles, _, _ = socket.recv_fds(self._orders, 65536, 3)
        if not message:
            return False
        order = json.loads(message)
        if "kill" in order:
            for process, call in self._calls.items():
                if call.id == order["kill"]:
                    os.kill(process, signal.SIGKILL)
            return True
        self._start(order, handles)
        for handle in handles:
            os.close(handle)
        return True

    def _start(self, order: dict[str, Any], handles: list[int]) -> None:
        taken = {call.slot for call in (*self._calls.values(), *self._sweeping.values())}
        slot = next(number for number in range(len(taken) + 1) if number not in taken)
        uid = self._first_uid + slot if self._setup.is_root else None
        scratch = None if self._level == "namespaces" else fence.make_host_scratch(uid)
        limits = self._fitted(Limits(**order["limits"]))
        asks = limits.network and self._level != "limits"
        here, there = socket.socketpair() if asks else (None, None)
        guard = self._start_guard() if asks else None
        fence.shared_filter(self._level, limits.network)
        if self._level == "namespaces":
            fence.begin_processes(self._own_processes)
        process = os.fork()
        if process == 0:
            self._become_tool([*handles, *([there.fileno()] if there else [])], limits, uid, scratch)
        self._calls[process] = Call(order["start"], slot, uid, scratch)
        if guard is not None and here is not None and there is not None:
            told = json.dumps({"process": process, "granted": order["granted"]}).encode()
            socket.send_fds(guard, [told], [here.fileno()])
            here.close()
            there.close()

    def _fitted(self, limits: Limits) -> Limits:
        """Without a user of their own, calls are counted together with all else that this user runs."""
        if self._setup.is_root or self._level == "namespaces":
            return limits
        if time.monotonic() - self._counted[1] > _COUNT_EVERY_S:
            self._counted = (_count_tasks(os.getuid()), time.monotonic())
        return replace(limits, processes=limits.processes + self._counted[0])

    def _start_guard(self) -> socket.socket:
        if self._guard is not None:
            return self._guard[1]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if self._level == "namespaces":
            fence.end_processes(self._own_processes)
        process = os.fork()
        if process == 0:
            try:
                signal.set_wakeup_fd(-1)
                kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
                self._orders.close()
                ours.close()
                serve_guard(theirs)
            finally:
                os._exit(0)
        theirs.close()
        self._guard = (process, ours)
        return ours

    def _reap(self) -> None:
        self._reap_all()
        if self._level != "namespaces" and not self._setup.is_root:
            # Whoever lost its parent has become a child of ours, which no call can be.
            known = {*self._calls, *self._sweeping, self._guard[0] if self._guard else 0}
            for stray in set(_children_of(os.getpid())) - known:
                with contextlib.suppress(OSError):
                    os.kill(stray, signal.SIGKILL)

    def _reap_all(self) -> None:
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            if self._guard is not None and process == self._guard[0]:
                raise BrokenPipeError("the guard is gone")
            if (call := self._calls.pop(process, None)) is not None:
                code = os.waitstatus_to_exitcode(status)
                call.code = code if code >= 0 else 128 - code
                if self._level == "namespaces":
                    self._report(call)
                else:
                    self._sweep(call)
            elif (call := self._sweeping.pop(process, None)) is not None:
                self._report(call)

    def _report(self, call: Call) -> None:
        self._orders.send(json.dumps({"done": call.id, "code": call.code}).encode())

    def _sweep(self, call: Call) -> None:
        """Ends what the call has left running and removes what it wrote: in a process, for it may take long."""
        process = os.fork()
        if process:
            self._sweeping[process] = call
            return
        try:
            for _ in range(_SWEEPS):
                strays = _processes_of(call.uid) if call.uid is not None else []
                if not strays:
                    break
                for stray in strays:
                    with contextlib.suppress(OSError):
                        os.kill(stray, signal.SIGKILL)
                time.sleep(_SWEEP_PAUSE_S)
            if call.scratch is not None:
                fence.remove_host_scratch(call.scratch)
        finally:
            os._exit(0)

    def _become_tool(self, handles: list[int], limits: Limits, uid: int | None, scratch: str | None) -> None:
        code = 71
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            _arrange_handles(handles)
            if sys.platform == "linux":
                kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
                fence.go_first_when_memory_is_short()
            if self._level == "namespaces":
                fence.enter_namespaces(self._setup, limits, uid)
            fence.give_up_rights(uid)
            os.chdir(scratch or fence.SCRATCH)
            if self._level == "landlock":
                fence.confine_files(self._setup, scratch or fence.SCRATCH)
            fence.set_limits(limits)
            listener = fence.close_calls(self._level, limits)
            if listener is not None:  # the guard takes it; only then is anything run
                os.write(4, str(listener).encode())
                if os.read(4, 1) != b"!":
                    raise OSError("nobody answers for its connections")
                os.close(listener)
                os.close(4)
            gc.enable()
            code = run_job(3, scratch or fence.SCRATCH)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.write(2, f"the sandbox could not be set up: {error!r}\n".encode())
        finally:
            os._exit(code)


def _notice(_signal: int, _frame: object) -> None:
    """Only so that the poll wakes up."""


def _arrange_handles(handles: list[int]) -> None:
    """0 nothing, 1 and 2 the output, 3 the channel, 4 the guard; all else is closed."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    wanted = [nothing, handles[1], handles[2], handles[0], *handles[3:]]
    high = [os.dup2(handle, 100 + place) for place, handle in enumerate(wanted)]
    for place, handle in enumerate(high):
        os.dup2(handle, place, inheritable=place < 4)
    start = len(wanted)
    for handle in sorted(KEPT_HANDLES):
        os.closerange(start, handle)
        start = handle + 1
    os.closerange(start, 1024)


def _children_of(process: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _processes_of(uid: int) -> list[int]:
    found: list[int] = []
    for each in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if each.name.isdigit() and each.stat().st_uid == uid:
                found.append(int(each.name))
    return found


def _count_tasks(uid: int) -> int:
    return sum(len(list(Path(f"/proc/{process}/task").glob("*"))) for process in _processes_of(uid))


def main() -> None:
    orders = socket.socket(fileno=int(sys.argv[1]))
    lifeline = int(sys.argv[2])
    for handle in (orders.fileno(), lifeline):
        os.set_inheritable(handle, False)
    setup = Setup(**json.loads(sys.argv[3]))
    setup.readable.extend(path for path in {sys.prefix, sys.base_prefix, *sys.path} if Path(path).is_dir())
    level, reason = choose_level(setup.level)
    first_uid = fence.first_uid()
    try:
        if level == "namespaces":
            enter_namespace_of_zygote(setup.is_root)
            become_first_process()
            fence.build_root(setup)
        elif sys.platform == "linux":
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
            fence.remove_stale_scratch()
            if setup.is_root:
                open_private_folders()
        if sys.platform == "linux" and setup.is_root:
            kernel.bar_capabilities()
        for name in _PRELOADED:
            with contextlib.suppress(ImportError):
                __import__(name)
    except OSError as error:
        orders.send(json.dumps({"failed": level, "reason": str(error)}).encode())
        return
    rehearse()
    gc.collect()
    gc.freeze()
    gc.disable()
    orders.send(json.dumps({"level": level, "reason": reason}).encode())
    Zygote(orders, setup, level, first_uid).serve(lifeline)


if __name__ == "__main__":
    main()

"""Which fence this machine permits. Imports next to nothing: it is asked at every start of the server."""

import os
import sys

from remanence.sandbox import kernel


def choose_level(wished: str) -> tuple[str, str]:
    """The level in force, and why it is not a better one. Must run in a process of its own."""
    if sys.platform != "linux":
        return "limits", f"{sys.platform} has no such fences"
    reason = ""
    if wished in ("auto", "namespaces"):
        reason = _try_namespaces()
        if not reason:
            return "namespaces", ""
    if wished in ("auto", "namespaces", "landlock"):
        if kernel.landlock_version() and kernel.has_filters():
            return "landlock", reason
        reason = f"{reason}; no Landlock" if reason else "no Landlock"
    return "limits", reason


def _try_namespaces() -> str:
    """Empty if they can be made; what stands in the way otherwise."""
    if not kernel.has_filters():
        return "no seccomp filters"
    process = os.fork()
    if process == 0:
        try:
            enter_namespace_of_zygote(os.geteuid() == 0)
            kernel.mount("tmpfs", "/tmp", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV)
            kernel.unshare(kernel.CLONE_NEWNET)
        except OSError:
            os._exit(1)
        os._exit(0)
    return "" if os.waitpid(process, 0)[1] == 0 else "namespaces are not permitted here"


def enter_namespace_of_zygote(is_root: bool) -> None:
    """Mounts and, once it forks, processes of its own; for a server without rights, inside a user namespace
    where it may make them."""
    user, group = os.geteuid(), os.getegid()
    if not is_root:
        kernel.unshare(kernel.CLONE_NEWUSER)
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            handle = os.open(f"/proc/self/{name}", os.O_WRONLY)
            os.write(handle, text.encode())
            os.close(handle)
    kernel.unshare(kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)


def become_first_process() -> None:
    """Goes on as the first of its own processes; when it ends, so does everything it has started.

    What it was before only waits for it, and ends with it.
    """
    process = os.fork()
    if process:
        while True:
            try:
                os._exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) & 0xFF)
            except InterruptedError:
                continue
    kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)

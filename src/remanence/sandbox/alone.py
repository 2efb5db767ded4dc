"""A fence that a process of our own puts around itself before it touches what others have written.

It keeps the handles it has, and can reach nothing else: no network, no files but the standard library's, no
other processes. As much of it as the system permits; limits everywhere. Standard library only.
"""

import os
import sys
import sysconfig

from remanence.sandbox import fence, filters, kernel


def shut_in(*, memory_bytes: int, cpu_s: int) -> None:
    """For good. What is needed should be imported by now."""
    is_linux = sys.platform == "linux"
    if is_linux:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
    fence.set_limits(
        fence.Limits(
            memory_bytes=memory_bytes,
            cpu_s=cpu_s,
            processes=4096,
            open_files=64,
            file_bytes=0,
            network=False,
        )
    )
    is_root = os.geteuid() == 0
    if is_linux:
        fence.go_first_when_memory_is_short()
        if kernel.landlock_version():
            kernel.confine_files([sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")], [])
    fence.give_up_rights(fence.first_uid() if is_root else None)
    if is_linux and kernel.has_filters():
        program = filters.build_filter(network="none", may_fork=False, may_signal=False, own_pid=os.getpid())
        kernel.install_filter(program)

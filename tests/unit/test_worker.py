"""Whether a process is surely gone: better too careful than to end the runs of one that lives."""

import subprocess
import sys

import pytest

from remanence.kit.worker import is_surely_gone, this_worker

_TELL = "from remanence.kit.worker import this_worker; print(this_worker(), flush=True); input()"


def test_this_process_is_not_gone() -> None:
    assert not is_surely_gone(this_worker())


def test_a_process_is_gone_once_it_was_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _TELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        worker = other.stdout.readline().strip()
        assert not is_surely_gone(worker)
        other.kill()
        other.wait()
        assert is_surely_gone(worker)


def test_a_later_process_with_the_same_number_is_another() -> None:
    *place, pid, started = this_worker().split("|")
    assert is_surely_gone("|".join((*place, pid, str(int(started) + 1))))


@pytest.mark.parametrize("part", [0, 1, 2], ids=["machine", "boot", "namespace"])
def test_one_that_cannot_be_seen_from_here_is_left_alone(part: int) -> None:
    parts = this_worker().split("|")
    parts[part] = "elsewhere"
    parts[4] = "1"
    assert not is_surely_gone("|".join(parts))


def test_what_is_not_understood_is_left_alone() -> None:
    assert not is_surely_gone("")
    assert not is_surely_gone("a|b|1|2")

"""Processes as the tests look at them: who stands below whom, who is alive, and how to end them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 120.0  # seconds: a busy machine is slow, and nothing here is meant to take long


@dataclass(frozen=True)
class Family:
    """The processes below a grader.

    Args:
        warm: each warm process, and what stands between it and the grader: a grading process, a box.
        children: the parent of each child that runs learner code, by the child.
    """

    warm: list[int]
    children: dict[int, int]

    @classmethod
    def of(cls, grader: int) -> Family:
        """Everything below this process, as it is now."""
        return cls.at(children_of(grader))

    @classmethod
    def at(cls, waiting: list[int]) -> Family:
        """Return these processes, which a grader started, and their descendants."""
        family = cls([], {})
        while waiting:
            process = waiting.pop()
            below = children_of(process)
            family.warm.append(process)
            if is_worker(process) and name_of(process) != "bwrap":
                family.children.update(dict.fromkeys(below, process))
            else:
                waiting += below
        return family


def children_of(process: int) -> list[int]:
    """Return the children of all threads of a process."""
    numbers: list[int] = []
    with suppress(FileNotFoundError):  # it has ended
        for file in Path(f"/proc/{process}/task").glob("*/children"):
            with suppress(OSError):
                numbers += map(int, file.read_text().split())
    return numbers


def descendants(process: int) -> set[int]:
    """Return all descendants of this process."""
    processes: set[int] = set()
    waiting = [process]
    while waiting:
        below = children_of(waiting.pop())
        processes.update(below)
        waiting += below
    return processes


def parent_of(process: int) -> int:
    """Return the parent's number; 0 where the process has ended."""
    with suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def name_of(process: int) -> str:
    """Return the program that a process runs; empty where it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{process}/comm").read_text().strip()
    return ""


def alive(process: int) -> bool:
    """Return whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def at_work(process: int) -> bool:
    """Return whether the process is alive and a worker: its number is not that of a newer process."""
    return alive(process) and is_worker(process)


def is_worker(process: int) -> bool:
    """Return whether it was started as a worker, or forked from one."""
    with suppress(OSError):
        return b"grader.child.worker_process" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


def kill(process: int, parent: int, number: signal.Signals = signal.SIGKILL) -> bool:
    """Kill a process of ours, and nobody else's that has its number by now."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return False
    try:
        if process not in children_of(parent) or not alive(process):
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


@contextlib.contextmanager
def ended(process: int) -> Iterator[None]:
    """End a stray process of a test, whatever the test says of it."""
    try:
        yield
    finally:
        if alive(process):
            os.kill(process, signal.SIGKILL)


def wait_until(true: Callable[[], bool], otherwise: str) -> None:
    """Look again and again until it is true, and fail where it never is."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.001)

"""What makes a fork cheap: the pages that a child will copy are known, and a fork leaves nothing behind.

Each in a process of its own: a warm process has one thread, and this fork knows of no other.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grader.child import linux_calls, warm_memory

SIZE = 1 << 22


def pages_that_a_child_writes_to() -> None:
    written, read = np.ones(SIZE, np.uint8), np.ones(SIZE, np.uint8)

    def rehearse() -> None:
        written[:: warm_memory.PAGE] = 2
        assert read.any()

    runs = np.frombuffer(warm_memory.pages_copied_by(rehearse), np.int64).reshape(-1, 2)

    def copied(array: np.ndarray) -> int:
        """How many bytes of an array, but for its ends, are in these runs."""
        first = array.ctypes.data
        overlaps = np.minimum(runs.sum(1), first + SIZE) - np.maximum(runs[:, 0], first)
        return int(overlaps.clip(0).sum())

    assert copied(written) > SIZE - 2 * warm_memory.PAGE or not len(runs)  # a kernel may not copy pages at once
    assert copied(read) < 4 * warm_memory.PAGE
    assert (written[:: warm_memory.PAGE] == 1).all()


def a_child_that_comes_to_nothing_copies_nothing() -> None:
    assert warm_memory.pages_copied_by(lambda: os._exit(1)) == b""


def a_fork_leaves_no_garbage() -> None:
    """A warm process never collects any, and each of its children would have to."""
    gc.collect()
    gc.disable()
    before = gc.get_count()[0]
    for _ in range(20):
        pid = linux_calls.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    assert gc.get_count()[0] - before < 20


@pytest.mark.parametrize(
    "claim", [pages_that_a_child_writes_to, a_child_that_comes_to_nothing_copies_nothing, a_fork_leaves_no_garbage]
)
def test_forks_are_cheap(claim) -> None:
    code = f"from {Path(__file__).stem} import {claim.__name__} as claim; claim()"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, check=True)

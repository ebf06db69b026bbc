"""What makes a fork cheap: the pages that a child will copy are known, and a fork leaves nothing behind."""

from __future__ import annotations

import gc
import os
import sys

import numpy as np
import pytest

from grader.child import linux_calls, warm_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks")
SIZE = 1 << 22


def test_the_pages_that_a_child_writes_to_are_told_and_can_be_copied() -> None:
    written, read = np.ones(SIZE, np.uint8), np.ones(SIZE, np.uint8)

    def rehearse() -> None:
        written[:: warm_memory.PAGE] = 2
        assert read.any()

    runs = np.frombuffer(warm_memory.pages_copied_by(rehearse), np.int64).reshape(-1, 2)
    if not len(runs):
        pytest.skip("this kernel does not copy pages at once")

    def copied(array: np.ndarray) -> int:
        """How many bytes of an array, but for its ends, are in these runs."""
        first = array.ctypes.data
        overlaps = np.minimum(runs.sum(1), first + SIZE) - np.maximum(runs[:, 0], first)
        return int(overlaps.clip(0).sum())

    assert copied(written) > SIZE - 2 * warm_memory.PAGE
    assert copied(read) < 4 * warm_memory.PAGE
    assert (written[:: warm_memory.PAGE] == 1).all()


def test_a_child_that_comes_to_nothing_copies_nothing() -> None:
    def rehearse() -> None:
        os._exit(1)

    assert warm_memory.pages_copied_by(rehearse) == b""


def test_a_fork_leaves_no_garbage() -> None:
    """A warm process never collects any, and each of its children would have to."""
    gc.collect()
    gc.disable()
    try:
        before = gc.get_count()[0]
        for _ in range(20):
            pid = linux_calls.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
        assert gc.get_count()[0] - before < 20
    finally:
        gc.enable()

"""Arrange a warm process's memory so that forking it is cheap: most of what a short-lived child costs is page faults.

Each page that a child writes to is copied for it, 4 KiB at a time. Small objects go where there is room, and after
an import there is room on thousands of half-empty pages: a child that fills these copies them all. And what is not
copied has to be mapped at the fork and unmapped at the child's end, page by page, or 2 MiB at a time.
Measured together: half of a child's page faults, and half of its processor time. C's allocator fills holes in the
same way, with what torch asks of it.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from mmap import PAGESIZE as PAGE

import numpy as np

from .linux_calls import copy_pages, fork, huge_pages, malloc, private_memory

LARGEST, STEP = 512, 16  # the sizes that Python's allocator serves from pages of their own, in bytes
HOLES = 1 << 19  # bytes of each size: more than what is free on half-empty pages after the imports
OF_C = (*range(69_000, 4_200, -1024), *range(4_200, 1_040, -64), *range(1_040, 24, -16))  # bytes, the largest first
YOUNG = 10_000  # objects that wait for their collection, which writes to each of them: few children have as many
AT_THE_END, ENOUGH = 40, 8  # blocks: that take what is left at the heap's end, and that find no hole any more
OWN = np.uint64(1 << 63 | 1 << 56)  # in /proc/self/pagemap: it is there, and mapped here alone
_kept: list[object] = []


def settle() -> None:
    """Fill the holes for good, exempt what is there from garbage collection, and gather it into huge pages."""
    gc.collect()
    for size in range(STEP, LARGEST + 1, STEP):
        make = _maker(size)
        _kept.extend(make() for _ in range(HOLES // size))
    _fill_heap()
    gc.freeze()
    gc.set_threshold(YOUNG)
    for first, end in private_memory():
        huge_pages(first, end)


def pages_copied_by(rehearse: Callable[[], None]) -> bytes:
    """The pages that a child which does this has copied, for `copy_pages`; none where the kernel cannot copy them."""
    spans, (ours, theirs) = private_memory(), os.pipe()
    pid = fork()
    if pid == 0:
        try:
            rehearse()
            with open(theirs, "wb") as reply:
                reply.write(_own_pages(spans).tobytes())
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as reply:
        pages = np.frombuffer(reply.read(), np.int64)
    os.waitpid(pid, 0)
    firsts = np.flatnonzero(np.diff(pages, prepend=-PAGE) != PAGE)
    runs = np.stack([pages[firsts], np.diff(firsts, append=len(pages)) * PAGE], axis=1).tobytes()
    try:
        copy_pages(runs)
    except OSError:
        return b""
    return runs


def _own_pages(spans: Sequence[tuple[int, int]]) -> np.ndarray:
    """The addresses of the pages that no other process shares, of memory from one address to another."""
    found = []
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        for first, end in spans:
            pagemap.seek(first // PAGE * 8)
            states = np.frombuffer(pagemap.read((end - first) // PAGE * 8), np.uint64)
            found.append(first + PAGE * np.flatnonzero(states & OWN == OWN))
    return np.concatenate(found)


def _fill_heap() -> None:
    end = max(malloc(OF_C[0]) for _ in range(AT_THE_END))
    for size in OF_C:
        beyond = 0
        while beyond < ENOUGH:
            beyond += malloc(size) > end


def _maker(size: int) -> Callable[[], object]:
    """What makes an object of exactly this size, and nothing else."""
    if size == 16:
        return object
    if size == 32:
        return lambda: complex(0.0, 1.0)
    spare = bytearray(size - b"".__sizeof__())
    return lambda: bytes(spare)

"""Arrange a warm process's memory so that forking it is cheap: most of what a short-lived child costs is page faults.

Each page that a child writes to is copied for it, 4 KiB at a time. Small objects go where there is room, and after
an import there is room on thousands of half-empty pages: a child that fills these copies them all. And what is not
copied has to be mapped at the fork and unmapped at the child's end, page by page, or 2 MiB at a time.
Measured together: half of a child's page faults, and half of its processor time. C's allocator fills holes in the
same way, with what torch asks of it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from .linux_calls import huge_pages, malloc

LARGEST, STEP = 512, 16  # the sizes that Python's allocator serves from pages of their own, in bytes
HOLES = 1 << 19  # bytes of each size: more than what is free on half-empty pages after the imports
OF_C = (*range(69_000, 4_200, -1024), *range(4_200, 1_040, -64), *range(1_040, 24, -16))  # bytes, the largest first
YOUNG = 10_000  # objects that wait for their collection, which writes to each of them: few children have as many
AT_THE_END, ENOUGH = 40, 8  # blocks: that take what is left at the heap's end, and that find no hole any more
_kept: list[object] = []


def settle() -> None:
    """Fill the holes for good, and gather what is there into huge pages."""
    gc.collect()
    for size in range(STEP, LARGEST + 1, STEP):
        make = _maker(size)
        _kept.extend(make() for _ in range(HOLES // size))
    _fill_heap()
    gc.set_threshold(YOUNG)
    huge_pages()


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

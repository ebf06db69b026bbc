"""Imports the grader as late as possible, because torch is imported with it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .grading import Grader


def new_grader(seed: int | None = None) -> Grader:
    """A grader; torch is imported for the first one, which raises ModuleNotFoundError where it is not installed."""
    with without_garbage_collection():
        from .grading import Grader
    return Grader(seed)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Import a great deal without collecting garbage, and never look through it again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()

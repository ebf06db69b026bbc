"""Imports the grader as late as possible, because torch is imported with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.garbage import without_garbage_collection

if TYPE_CHECKING:
    from .grading import Grader


def new_grader(seed: int | None = None) -> Grader:
    """A grader; torch is imported for the first one, which raises ModuleNotFoundError where it is not installed."""
    with without_garbage_collection():
        from .grading import Grader
    return Grader(seed)

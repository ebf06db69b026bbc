"""From a learner's code to a verdict on every answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.garbage import without_garbage_collection

if TYPE_CHECKING:
    from .grading import Grader


def new_grader(seed: int | None = None) -> Grader:
    """Return a new grader with this seed, or a random one; torch is imported with it, and so as late as possible.

    Raises:
        ModuleNotFoundError: torch, which is imported here at the first call, is not installed.
    """
    with without_garbage_collection():
        from .grading import Grader
    return Grader(seed)

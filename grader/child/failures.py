"""Reports how learner code fails, inside the child: exceptions as facts, and code that exceeds its time."""

from __future__ import annotations

import os
import signal
import time
import traceback
from typing import Any, Self

from .accident_limits import NO_THREAD
from .captured_output import NoKeyboard
from .learner_imports import absence
from .no_autograd import AutogradUsed

MAX_TEXT = 2000
MAX_LINES = 8
NOT_THERE = "checks and graded runs have no files, no network, no processes and no threads"


class OutOfTime(BaseException):
    """The time limit passed while learner code was running."""


class Clock:
    """Raises `OutOfTime` in learner code when its time is up, where the platform has interval timers.

    Args:
        seconds: for everything.
    """

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def __enter__(self) -> Self:
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, _raise_out_of_time)
        self.allow(None)
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)

    def allow(self, seconds: float | None) -> None:
        """Begin a part that may take so long, or all that is left."""
        left = max(self.end - time.monotonic(), 1e-6)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, left if seconds is None else min(seconds, left))

    def is_over(self) -> bool:
        """All of the time has passed."""
        return time.monotonic() >= self.end


def _raise_out_of_time(_number: int, _frame: object) -> None:
    raise OutOfTime


def error_facts(error: BaseException, filename: str, *, loading: bool = False) -> dict[str, Any]:
    """An exception as facts; its lines are those of the learner's source, outermost first.

    Where it comes from another file in the same folder, `file` names that one, and the lines are of it.

    Args:
        loading: it came while the source was read and run, not from a call: the source may be no Python.
    """
    kind = "syntax" if loading and isinstance(error, SyntaxError) else "raised"
    if isinstance(error, OutOfTime):
        kind = "timeout"
    elif isinstance(error, AutogradUsed):
        kind = "autograd"
    elif isinstance(error, SystemExit):
        kind = "exit"
    elif isinstance(error, (ImportError, NoKeyboard)):
        kind = "absent"
    elif isinstance(error, MemoryError) or "can't allocate memory" in _text(error):
        kind = "memory"
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        places.append((error.filename or "", error.lineno))
    folder = os.path.dirname(filename)
    places = [place for place in places if place[0].endswith(".py") and os.path.dirname(place[0]) == folder]
    last = places[-1][0] if places else filename
    message = error.msg if isinstance(error, SyntaxError) else _text(error)
    if isinstance(error, PermissionError) or message == NO_THREAD:
        message = f"{message}; {NOT_THERE}"
    return {
        "kind": kind,
        "type": type(error).__name__[:100],
        "message": str(absence(error) if isinstance(error, ImportError) else message)[:MAX_TEXT],
        "file": "" if last == filename else os.path.basename(last),
        "lines": [line for file, line in places if file == last and line is not None][-MAX_LINES:],
    }


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # an exception whose __str__ raises
        return "(its message cannot be shown)"

"""Reports how learner code fails, inside the child: exceptions as facts."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .accident_limits import NO_THREAD
from .captured_output import NoKeyboard
from .clock import OutOfTime
from .learner_imports import absence
from .no_autograd import AutogradUsed

KINDS: dict[type[BaseException], str] = {
    OutOfTime: "timeout", AutogradUsed: "autograd", SystemExit: "exit", ImportError: "absent", NoKeyboard: "absent",
    MemoryError: "memory",
}  # fmt: skip
MAX_TEXT = 2000
MAX_LINES = 8
NOT_THERE = "checks and graded runs have no files, no network, no processes and no threads"


def error_facts(
    error: BaseException,
    filename: str,
    *,
    loading: bool = False,
    run: Callable[..., Any] = lambda work, *args: work(*args),
) -> dict[str, Any]:
    """An exception as facts; its lines are those of the learner's source, outermost first.

    Where it comes from another file in the same folder, `file` names that one, and the lines are of it.

    Args:
        loading: it came while the source was read and run, not from a call: the source may be no Python.
        run: calls what learner code may have defined, which may never come to an end.
    """
    message = "(its message cannot be shown)"
    with suppress(BaseException):  # an exception whose __str__ raises
        told = error.msg if isinstance(error, SyntaxError) else error
        message = run(absence, error) if isinstance(error, ImportError) else run(str, told)
    kind = next((KINDS[each] for each in KINDS if isinstance(error, each)), "raised")
    if kind == "raised" and "can't allocate memory" in message:
        kind = "memory"
    elif kind == "raised" and loading and isinstance(error, SyntaxError):
        kind = "syntax"
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        places.append((error.filename or "", error.lineno))
    folder = os.path.dirname(filename)
    places = [place for place in places if place[0].endswith(".py") and os.path.dirname(place[0]) == folder]
    last = places[-1][0] if places else filename
    if isinstance(error, PermissionError) or message == NO_THREAD:
        message = f"{message}; {NOT_THERE}"
    return {
        "kind": kind,
        "type": type(error).__name__[:100],
        "message": str(message)[:MAX_TEXT],
        "file": "" if last == filename else os.path.basename(last),
        "lines": [line for file, line in places if file == last and line is not None][-MAX_LINES:],
    }

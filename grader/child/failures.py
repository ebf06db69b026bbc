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
    """Return an exception as facts for the reply: kind, type, message, file and lines.

    The lines are those of the learner's source in the traceback, outermost first. If the exception arose in another
    file of the same folder, `file` names that file and the lines are of it; otherwise `file` is empty.

    Args:
        filename: the path of the learner's source.
        loading: whether the exception arose while the source was compiled and run, and not in a call of the function.
        run: calls code that the learner may have defined, such as `__str__`, under a time limit, as it may never end.
    """
    message = "(its message cannot be shown)"
    with suppress(BaseException):  # an exception whose __str__ raises
        described = error.msg if isinstance(error, SyntaxError) else error
        message = run(absence, error) if isinstance(error, ImportError) else run(str, described)
    kind = next((KINDS[type_] for type_ in KINDS if isinstance(error, type_)), "raised")
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

"""Reports how learner code fails, inside the child: exceptions as facts."""

from __future__ import annotations

import traceback
from typing import Any

from .clock import OutOfTime
from .no_autograd import AutogradUsed

MAX_TEXT = 2000
MAX_LINES = 8


def error_facts(error: BaseException, filename: str, *, loading: bool = False) -> dict[str, Any]:
    """An exception as facts; its lines are those of the learner's source, outermost first.

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
    elif isinstance(error, MemoryError) or "can't allocate memory" in _text(error):
        kind = "memory"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == filename]
    if isinstance(error, SyntaxError) and error.filename == filename:
        lines = [error.lineno]
    message = error.msg if isinstance(error, SyntaxError) else _text(error)
    return {
        "kind": kind,
        "type": type(error).__name__[:100],
        "message": str(message)[:MAX_TEXT],
        "lines": [line for line in lines if line is not None][-MAX_LINES:],
    }


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # an exception whose __str__ raises
        return "(its message cannot be shown)"

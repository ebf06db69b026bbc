"""The errors that a user can meet, each with one sentence and an exit code."""

from __future__ import annotations

import errno
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
LONGEST_REASON = 300
KEPT = "What was finished is kept; the same command goes on."
MISNAMED = frozenset(  # faults that the user can put right by another name, or another mode of the file
    (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP,
     errno.ENAMETOOLONG, errno.EINVAL)
)  # fmt: skip


class HandgradError(Exception):
    """Report a problem in one sentence, never as a traceback.

    Args:
        message: says what is wrong, in which file, and what to do next.
    """

    exit_code = 2

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows in place of a traceback."""
        return [f"handgrad: {self}"]


class UsageError(HandgradError):
    """Report that a command was given something that does not exist."""


class CourseError(HandgradError):
    """Report that `course.yaml` cannot be used."""


class SpecError(HandgradError):
    """Report that a declaration in a `spec.py` cannot be used."""


class InfrastructureError(HandgradError):
    """Report that the grader, not the learner, is at fault: no worker, no torch, no disk."""

    exit_code = 3


def file_error(message: str, error: OSError) -> HandgradError:
    """Return a `UsageError` for a file that cannot be used if another name could help, else an `InfrastructureError`.

    Args:
        message: the sentence of the error.
        error: the exception that the use of the file ended in.
    """
    return UsageError(message) if error.errno in MISNAMED else InfrastructureError(message)


class NoGradedRuns(InfrastructureError):
    """Report, before any submission is read, that learner code cannot be isolated here as graded runs need it."""


class ProtocolError(InfrastructureError):
    """Report that bytes from another process are not a well-formed frame."""


class ReadError(HandgradError):
    """Report a line of a file that cannot be read.

    Args:
        line: the number of the line, counted from 1.
        problem: says what is wrong there and what to do, without the line.
    """

    def __init__(self, line: int, problem: str) -> None:
        """Join both to the message "line 3: ...", and keep them as attributes."""
        super().__init__(f"line {line}: {problem}")
        self.line, self.problem = line, problem


class ExpressionError(HandgradError):
    """Report a formula that cannot be read or evaluated.

    Args:
        message: says what is wrong and what to write, without the formula's name.
        code: the public code of the mistake; `not-read` where the formula cannot be judged at all.
    """

    def __init__(self, message: str, code: str = "not-read") -> None:
        """Keep the code of the mistake, beside the message."""
        super().__init__(message)
        self.code = code


def describe_error(error: BaseException) -> str:
    """Return an exception's type and message, "KeyError: 'x'"; of a `HandgradError` the message without its point.

    A line number is left out.
    """
    if isinstance(error, HandgradError):
        return str(error).rstrip(".")
    message = str(error.msg if isinstance(error, SyntaxError) else error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def fault_report(error: BaseException) -> str:
    """Return the sentence on an unforeseen exception: its message, the line of handgrad, and where to report it.

    Of a `MemoryError` it says that there is not enough memory, and is nothing to report.
    """
    trace, where = error.__traceback__, ""
    while trace is not None:  # the last place in this package
        path = Path(trace.tb_frame.f_code.co_filename)
        if PACKAGE in path.parents:
            where = f" in {path.relative_to(PACKAGE.parent).as_posix()}, line {trace.tb_lineno}"
        trace = trace.tb_next
    fault = f"{describe_error(error)[:LONGEST_REASON]}{where}"
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({fault}). {KEPT}"
    return f"{fault}. That is a mistake in handgrad and not yours: send this line to whoever gave you handgrad. {KEPT}"

"""Every error that a person can meet, each with one sentence and an exit code."""

from __future__ import annotations


class HandgradError(Exception):
    """A problem to be shown as one sentence, never as a traceback.

    Args:
        message: what is wrong, in which file, and what to do next.
    """

    exit_code = 2

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of a traceback."""
        return [f"handgrad: {self}"]


class UsageError(HandgradError):
    """The command was asked for something that does not exist."""


class CourseError(HandgradError):
    """`course.yaml` cannot be used."""


class SpecError(HandgradError):
    """A declaration in a `spec.py` cannot be used."""


class InfrastructureError(HandgradError):
    """The grader, not the learner, is at fault: no worker, no torch, no disk."""

    exit_code = 3


class ProtocolError(InfrastructureError):
    """Bytes that are not a well-formed frame."""


class ReadError(HandgradError):
    """A line of a file that cannot be understood.

    Args:
        line: counted from 1.
        problem: what is wrong there and what to do, without the line.
    """

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line, self.problem = line, problem


class ExpressionError(HandgradError):
    """A formula that cannot be read or worked out.

    Args:
        message: what is wrong and what to write, without the formula's name.
        code: the public code of the mistake; `not-read` where the formula cannot be judged at all.
    """

    def __init__(self, message: str, code: str = "not-read") -> None:
        super().__init__(message)
        self.code = code


def describe_error(error: BaseException) -> str:
    """What an exception says: any but ours with its type, and a syntax error without its line."""
    if isinstance(error, HandgradError):
        return str(error).rstrip(".")
    says = str(error.msg if isinstance(error, SyntaxError) else error)
    return f"{type(error).__name__}: {says}" if says else type(error).__name__

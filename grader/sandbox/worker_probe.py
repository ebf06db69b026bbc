"""Try a worker before any submission is graded: it must answer a small job, in the isolation that will be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grader.errors import InfrastructureError, NoGradedRuns, ProtocolError

from .worker import Unanswered, Worker

if TYPE_CHECKING:
    from grader.child.protocol import Frame

LIMIT = 30.0  # seconds for a job that takes some milliseconds
MEMORY = 512  # MiB
NUMBERS = (1.0, -2.0, 0.5)
SOURCE = """
import sys
import numpy
import torch
print(sys.version.split()[0], torch.__version__, numpy.__version__)
def probe(x):
    return torch.einsum("i,j->ij", x, x) @ x
"""
NOT_GRADED = "A graded run does not work here, so nothing was graded"
NEXT = "`handgrad doctor` shows what works on this machine."


class Versions(NamedTuple):
    """Name the versions of Python, torch and numpy that a worker runs learner code with."""

    python: str
    torch: str
    numpy: str


def probe(worker: Worker) -> None:
    """Check that a worker can answer a job, before the first submission is graded.

    Raises:
        NoGradedRuns: the worker gave no answer or a wrong one; the message gives the reason.
    """
    try:
        worker_versions(worker)
    except InfrastructureError as error:
        raise NoGradedRuns(f"{NOT_GRADED}: {error} {NEXT}") from error


def worker_versions(worker: Worker) -> Versions:
    """Have a worker answer a small job, and return the versions that it ran the job with.

    Raises:
        InfrastructureError: the worker gave no answer or a wrong one; the message gives the reason.
    """
    return _check_versions(worker.run(_probe_job(), LIMIT))


def _probe_job() -> Frame:
    """Return a job of one line whose result is known."""
    import numpy as np

    from grader.child.protocol import Frame

    call = {"arguments": [["x", {"tensor": 0, "g": None}]], "meter": False}
    job = {
        "cells": [SOURCE], "cell_limit": None, "filename": "probe.py", "function": "probe", "calls": [call],
        "time_limit": LIMIT, "memory_limit": MEMORY,
    }  # fmt: skip
    return Frame(job, [np.array(NUMBERS, np.float32)])


def _check_versions(reply: Frame | Unanswered) -> Versions:
    """Check the reply to the small job, and return the versions that it printed.

    Raises:
        InfrastructureError: there is no answer, or the answer is wrong.
    """
    from . import checked_reply

    if isinstance(reply, Unanswered):
        raise InfrastructureError(f"a job of one line ended in a {reply.end}{reply.detail and f': {reply.detail}'}.")
    try:
        facts = checked_reply.read(reply)
        error = facts.error or (facts.calls[0].error if facts.calls else None)
        array = facts.calls[0].returned.array if facts.calls else None
    except ProtocolError as error:
        raise InfrastructureError(f"a job of one line came back malformed ({error}).") from error
    if error is not None:
        raise InfrastructureError(f"a job of one line raised {error.type}: {error.message}.")
    squares = sum(number * number for number in NUMBERS)
    expected = [number * squares for number in NUMBERS]
    given = None if array is None else array.tolist()
    if given != expected:
        raise InfrastructureError(f"a job of one line gave {given}, not {expected}.")
    versions = facts.printed.split()
    if len(versions) != len(Versions._fields):
        raise InfrastructureError(f"a job of one line printed {facts.printed!r}, not its versions.")
    return Versions(*versions)

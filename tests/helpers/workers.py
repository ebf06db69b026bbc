"""Provide warm workers of every kind, and jobs for them; a plugin of pytest."""

from __future__ import annotations

import functools
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, cast

import numpy as np
import pytest

from grader.child import protocol
from grader.sandbox.isolation import Isolation, choose, machine
from grader.sandbox.worker import MODE_VARIABLE, Worker, start_worker

MODES = ("fork", "spawn") if sys.platform == "linux" else ("spawn",)


@pytest.fixture(scope="session")
def worker(warm: Callable[[str], Worker]) -> Worker:
    """Return the session's warm worker of this platform's default mode."""
    return warm(MODES[0])


@pytest.fixture(scope="session")
def warm() -> Iterator[Callable[[str], Worker]]:
    """Return a function from a mode or an isolation to the session's worker of it, which starts at the first call."""
    with ExitStack() as open_workers:
        yield functools.cache(lambda kind: open_workers.enter_context(worker_of(kind)))


@pytest.fixture(params=MODES)
def each_worker(request: pytest.FixtureRequest, warm: Callable[[str], Worker]) -> Worker:
    """Return the session's warm worker of each mode that this platform has."""
    return warm(request.param)


@pytest.fixture
def isolation() -> Isolation:
    """Return the strongest isolation of this machine; the thorough tests override it with each."""
    return strongest()


@pytest.fixture
def isolated(isolation: Isolation, warm: Callable[[str], Worker]) -> Worker:
    """Return the session's warm worker of this isolation."""
    return warm(isolation)


@functools.cache
def strongest() -> Isolation:
    """Return the isolation that a graded run has on this machine."""
    return choose(machine())


def worker_of(kind: str) -> AbstractContextManager[Worker]:
    """Start a worker of a mode (`fork` or `spawn`, without isolation) or of an isolation."""
    return mode_worker(kind) if kind in MODES else start_worker(cast(Isolation, kind))


@contextmanager
def mode_worker(mode: str) -> Iterator[Worker]:
    """Start a worker of a mode, whatever the environment variable of the mode is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODE_VARIABLE, mode)
        worker = start_worker("none")
    with worker:
        yield worker


def make_job(
    source: str, *argument_sets: dict[str, Any], function: str = "probe", time_limit: float = 5.0, meter: bool = False,
    modules: dict[str, str] | None = None,
) -> protocol.Frame:  # fmt: skip
    """Return a job that calls `function` once with each set of arguments.

    `modules` holds the texts of the files that the source can import, by their names.
    An array becomes a tensor, a pair of arrays a tensor and its upstream gradient, a dict is sent as it is, and any
    other value as a literal.
    """
    arrays: list[np.ndarray] = []

    def encoded(value: Any) -> Any:
        if isinstance(value, tuple):
            arrays.extend(value)
            return {"tensor": len(arrays) - 2, "g": len(arrays) - 1}
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return {"tensor": len(arrays) - 1, "g": None}
        return value if isinstance(value, dict) else {"literal": repr(value)}

    calls = [
        {"arguments": [[name, encoded(value)] for name, value in arguments.items()], "meter": meter}
        for arguments in argument_sets
    ]
    header = {
        "cells": [textwrap.dedent(source)],
        "cell_limit": None,
        "filename": "probe.py",
        "function": function,
        "time_limit": time_limit,
        "memory_limit": 512,
        "calls": calls,
        "modules": modules or {},
    }
    return protocol.Frame(header, arrays)

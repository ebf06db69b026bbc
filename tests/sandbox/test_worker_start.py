"""A worker that cannot start raises the reason at once, and the next job starts another process.

`thorough/test_every_worker_start.py` tries every reason in every isolation.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.probes import HONEST, PATIENT, X, assert_still_honest
from helpers.processes import Family, alive
from helpers.workers import MODES, make_job, mode_worker

from grader.errors import InfrastructureError
from grader.sandbox.worker import Worker

pytestmark = pytest.mark.slow


def refusal(worker: Worker) -> str:
    """Return the error of a job whose worker cannot start, which comes before any time limit."""
    job = make_job(HONEST, {"x": X})
    with pytest.raises(InfrastructureError) as error:
        worker.run(job, PATIENT)
    assert "was not ready after" not in str(error.value)
    return str(error.value)


def family(worker: Any) -> list[int]:
    """Return the process ids of a worker that is starting; in a box there are several."""
    pid = worker.process.popen.pid
    with contextlib.suppress(subprocess.TimeoutExpired):
        worker.process.popen.wait(0.3)
    return [pid, *Family.of(pid).warm]


@contextlib.contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Open as many files as this process may have, and close them afterwards."""
    before, opened = resource.getrlimit(resource.RLIMIT_NOFILE), []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 1, before[1]))
    try:
        with contextlib.suppress(OSError):
            while True:
                opened.append(os.dup(1))
        yield
    finally:
        for fd in opened:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture
def mode() -> str:
    """Return the default mode; `thorough/test_every_worker_start.py` has each."""
    return MODES[0]


def test_killed_it_says_so_and_starts_again(mode: str) -> None:
    """Killed while it is still importing torch; closed, it leaves no process."""
    with mode_worker(mode) as worker:
        assert_ended_by(worker, signal.SIGKILL)
        assert_still_honest(worker)
        process = worker.process.popen.pid
    assert not alive(process)


def assert_ended_by(worker: Any, number: signal.Signals) -> None:
    """Check that the error of a starting process that a signal ended names the signal."""
    os.kill(worker.process.popen.pid, number)
    assert f"the process was ended by the signal {number.name}" in refusal(worker)


def assert_stopped(worker: Worker, which: int) -> None:
    """Check that the error of a starting worker names the stopped process, which in a box may be a descendant."""
    pid = family(worker)[which]
    os.kill(pid, signal.SIGSTOP)
    assert f"process {pid} was stopped by a signal or a debugger" in refusal(worker)


def assert_refused_for_want_of_descriptors(worker: Worker) -> None:
    """Check that a worker cannot start while too many files are open."""
    worker.close()
    with no_descriptor_left():
        assert "Too many open files" in refusal(worker)

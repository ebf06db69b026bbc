"""Every way in which a worker cannot start, in every mode and isolation: the rest of `test_worker_start.py`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from helpers import prepared_grader
from helpers.courses import ROOT
from helpers.prepared_grader import PARENTS
from helpers.probes import HANG, HONEST, PATIENT, SHORT, X, assert_still_honest
from helpers.processes import PATIENCE, alive
from helpers.workers import MODES, make_job, mode_worker, worker_of
from test_worker_start import (
    assert_ended_by,
    assert_refused_for_want_of_descriptors,
    assert_stopped,
    family,
    refusal,
)

from grader.sandbox import warm_process
from grader.sandbox.worker import Worker

ISOLATIONS = ("kernel", "box") if sys.platform == "linux" else ()


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[*MODES, *ISOLATIONS])
def starting(request: pytest.FixtureRequest) -> Iterator[Worker]:
    """A worker of each kind whose process has been started, and is importing torch."""
    with worker_of(request.param) as worker:
        yield worker


def test_killed_stopped_or_refused_it_says_so_and_starts_again(mode: str) -> None:
    """One after the other, each with a process that is still importing torch; closed, it leaves none.

    Killed between two jobs, it is replaced without a word: nobody's answer is to blame.
    """
    with mode_worker(mode) as worker:
        assert_ended_by(worker, signal.SIGKILL)
        worker.replace_process()
        assert_stopped(worker, 0)
        assert_refused_for_want_of_descriptors(worker)
        assert_still_honest(worker)
        os.kill(worker.process.popen.pid, signal.SIGKILL)
        worker.process.popen.wait()
        assert_still_honest(worker)
        process = worker.process.popen.pid
    assert not alive(process)


def test_ended_or_stopped(starting: Worker) -> None:
    """One after the other: by each signal, and at each of its processes."""
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
        assert_ended_by(starting, number)
        starting.replace_process()
    for which in (0, -1):
        assert_stopped(starting, which)
        starting.replace_process()
    assert_still_honest(starting)


def test_killed_inside_its_box() -> None:
    with worker_of("box") as worker:
        os.kill(family(worker)[-1], signal.SIGKILL)
        assert "the process was ended by the signal SIGKILL" in refusal(worker)
        assert_still_honest(worker)


def test_killed_again_and_again_it_says_so_each_time(mode: str) -> None:
    """What was once lost is not asked for again: not at once and wrong, nor after two minutes."""
    with mode_worker(mode) as worker:
        for _ in range(3):
            if worker.process is not None:
                worker.process.popen.kill()
                refusal(worker)
        assert_still_honest(worker)


def start_after(worker: Any, statement: str) -> None:
    """Have the worker's next process, and only that one, begin with a statement of Python."""
    plain = warm_process._command
    code = f"import os, resource, sys; {statement}; os.execv(sys.argv[1], sys.argv[1:])"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm_process, "_command", lambda *given: [sys.executable, "-c", code, *plain(*given)])
        worker.replace_process()


HOW_AN_INTERPRETER_ENDS = {
    "sys.exit('of no use')": "ended itself with exit code 1: of no use",
    "sys.exit(7)": "with exit code 7.",
    # Python starts in so little memory, torch does not.
    "resource.setrlimit(resource.RLIMIT_AS, (100 << 20, 100 << 20))": "could not start: the process",
}


def test_an_interpreter_that_ends_says_how_and_one_that_is_not_there_too(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other: none keeps the next from being told, nor the last from starting."""
    with mode_worker(mode) as worker:
        for statement, why in HOW_AN_INTERPRETER_ENDS.items():
            worker.close()
            start_after(worker, statement)
            assert why in refusal(worker)
        with monkeypatch.context() as patch:
            patch.setattr(warm_process.sys, "executable", "/nowhere/python")
            assert "refuses a new process (No such file or directory)" in refusal(worker)
        assert_still_honest(worker)


def test_last_words_are_no_condition(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no temporary file can be made, a worker starts, and its end is told without its words."""
    monkeypatch.setattr(tempfile, "TemporaryFile", _disk_is_full)
    with mode_worker(mode) as worker:
        worker.process.popen.kill()
        assert "ended by the signal SIGKILL" in refusal(worker)
        assert_still_honest(worker)


def _disk_is_full() -> None:
    raise OSError(28, "No space left on device")


def test_a_fork_that_is_refused_is_said() -> None:
    """The warm process may make no child: it says why, and lives on to try again for the next job."""
    with worker_of("kernel") as worker:
        worker.close()
        start_after(worker, "resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))")
        for _ in range(2):
            assert "the system refuses another process (Resource temporarily unavailable)" in refusal(worker)
        worker.close()
        assert_still_honest(worker)


@pytest.mark.parametrize("parent", PARENTS)
def test_it_works_for_a_grader_that(parent: str, mode: str) -> None:
    """Nothing that a long-lived process leaves to what it starts keeps a worker from working."""
    jobs = [make_job(source, {"x": X}, time_limit=limit).pack() for source, limit in ((HONEST, PATIENT), (HANG, SHORT))]
    done = subprocess.run(
        [sys.executable, prepared_grader.__file__, parent, mode, str(PATIENT), str(SHORT)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, input=b"".join(jobs), capture_output=True, timeout=4 * PATIENCE,
    )  # fmt: skip
    assert done.stdout.decode() == "answered timeout\n", done.stderr.decode()

"""The job of a child that is killed from outside is run once more, once only; see `thorough/test_fifty_kills.py`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from helpers.probes import PATIENT, X, assert_still_honest, outcome
from helpers.processes import Family, alive, kill
from helpers.workers import make_job

from grader.sandbox.worker import Worker

pytestmark = pytest.mark.slow

SLEEPS = "import time\ndef probe(x):\n    time.sleep(0.2)\n    return x * 2\n"


@contextmanager
def killing(worker: Worker, times: int, number: signal.Signals) -> Iterator[None]:
    """Kill so many children of a worker, one after the other."""

    def run() -> None:
        killed: set[int] = set()
        while len(killed) < times and not over.wait(0.01):
            process = worker.process
            if process is None or not process.is_ready:  # its own checks of itself have children too
                continue
            for child, warm in Family.at([process.popen.pid]).children.items():
                if child not in killed and kill(child, warm, number):
                    killed.add(child)

    over = threading.Event()
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def assert_second_chance_and_no_third(worker: Worker, number: signal.Signals) -> None:
    """Check that a job whose child was killed is run again in a fresh warm process; killed twice, it has crashed."""
    job = make_job(SLEEPS, {"x": X}, time_limit=PATIENT)
    assert_still_honest(worker)
    warm = worker.process.popen.pid
    with killing(worker, 1, number):
        assert outcome(worker.run(job, PATIENT)) == "returned tensor"
    assert not alive(warm), "the second chance is in a fresh warm process"
    with killing(worker, 2, number):
        reply = worker.run(job, PATIENT)
    assert (reply.end, reply.detail) == ("crash", f"the process was ended by {number.name}")
    assert_still_honest(worker)


def test_a_child_ended_from_outside_has_a_second_chance_and_no_third(worker: Worker) -> None:
    assert_second_chance_and_no_third(worker, signal.SIGKILL)

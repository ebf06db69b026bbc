"""The job of a child that is killed from outside is run once more, once only; see `thorough/test_fifty_kills.py`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from helpers.probes import PATIENT, X, assert_still_honest, outcome
from helpers.processes import Family, alive, kill
from helpers.workers import make_job

from grader.child.protocol import Frame
from grader.sandbox.isolation import Isolation
from grader.sandbox.worker import Unanswered, Worker

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
    assert_second_chance(worker, number)
    with killing(worker, 2, number):
        reply = worker.run(sleeping_job(), PATIENT)
    assert (reply.end, reply.detail) == ("crash", f"the process was ended by the signal {number.name}")
    assert_still_honest(worker)


def assert_second_chance(worker: Worker, number: signal.Signals) -> None:
    """Check that a job whose child was killed is run again in a fresh warm process."""
    assert_still_honest(worker)
    warm = worker.process.popen.pid
    with killing(worker, 1, number):
        assert outcome(worker.run(sleeping_job(), PATIENT)) == "returned tensor"
    assert not alive(warm), "the second chance is in a fresh warm process"
    assert_still_honest(worker)


def sleeping_job() -> bytes:
    return make_job(SLEEPS, {"x": X}, time_limit=PATIENT)


def test_a_child_ended_from_outside_has_a_second_chance(worker: Worker) -> None:
    assert_second_chance(worker, signal.SIGKILL)


class Doomed:
    """Act as a warm process whose children are all killed from outside."""

    is_ready, is_spent = True, False

    def __init__(self) -> None:
        self.jobs, self.is_closed = 0, False

    def answer(self, job: Frame, time_limit: float, announce: object) -> Unanswered:
        self.jobs += 1
        return Unanswered("crash", detail="the process was ended by the signal SIGKILL", killed=True)

    def has_ended(self) -> bool:
        return False

    def await_ready(self) -> None: ...

    def close(self) -> None:
        self.is_closed = True


def test_a_job_killed_twice_has_no_third_chance() -> None:
    processes: list[Doomed] = []

    def start(isolation: Isolation) -> Any:
        processes.append(Doomed())
        return processes[-1]

    reply = Worker(start, "none").run(sleeping_job(), PATIENT)
    assert (reply.end, reply.detail) == ("crash", "the process was ended by the signal SIGKILL")
    assert [(process.jobs, process.is_closed) for process in processes] == [(1, True), (1, False)]

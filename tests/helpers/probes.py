"""Learner code that is sent to a worker as a job of its own, and how the job ended."""

from __future__ import annotations

import threading

import numpy as np

from grader.child.protocol import Frame
from grader.errors import ProtocolError
from grader.sandbox.checked_reply import Facts, read
from grader.sandbox.worker import Unanswered, Worker
from helpers.workers import make_job

X = np.arange(6, dtype="float32").reshape(2, 3)
HONEST = "def probe(x):\n    return x * 2\n"
HANG = "def probe(x):\n    while True: pass\n"
SHORT = 0.3  # seconds for what is meant to hang: no machine is too slow to run out of time
PATIENT = 60.0  # seconds for everything else, on any machine
WATCHDOG = 240.0  # seconds until the grader itself counts as hanging: a worker that is slow to start may take long


def run(worker: Worker, source: str, limit: float = PATIENT) -> Frame | Unanswered:
    """One job's reply; if the worker itself hangs, its process is killed and the test fails."""
    hung = threading.Event()

    def rescue() -> None:
        hung.set()
        worker.process.popen.kill()

    watchdog = threading.Timer(WATCHDOG, rescue)
    watchdog.start()
    try:
        reply = worker.run(make_job(source, {"x": X}, time_limit=limit), limit)
    finally:
        watchdog.cancel()
    assert not hung.is_set(), "the grader waited for ever"
    return reply


def limit_for(expected: str) -> float:
    """Return the time limit of a job with this outcome, in seconds: short only for a job that hangs."""
    return SHORT if "timeout" in expected else PATIENT


def observed(reply: Frame | Unanswered) -> Facts:
    """Return what the worker observed; fail if it did not answer."""
    assert not isinstance(reply, Unanswered), reply
    return read(reply)


def outcome(reply: Frame | Unanswered) -> str:
    """Return in one word how a job ended: timeout, crash, an exception's type, or the kind of value returned."""
    if isinstance(reply, Unanswered):
        return reply.end
    facts = read(reply)
    error = facts.error or facts.calls[0].error
    if error is None:
        return f"returned {facts.calls[0].returned.kind}"
    return error.type if error.kind == "raised" else error.kind


def ending(reply: Frame | Unanswered) -> str:
    """Return how a job ended; a reply that cannot be read is a crash, as in the grader."""
    try:
        if not isinstance(reply, Unanswered):
            assert len(observed(reply).printed) < 20_000
        return outcome(reply)
    except ProtocolError:
        return "crash"


def assert_still_honest(worker: Worker) -> None:
    """Assert that an honest job is answered right."""
    reply = observed(run(worker, HONEST))
    assert reply.calls[0].error is None
    np.testing.assert_array_equal(reply.calls[0].returned.array, X * 2)


def body(text: str) -> str:
    """Return a learner's file whose function runs a body first, and then answers honestly."""
    indented = text.strip("\n").replace("\n", "\n    ")
    return f"import ctypes, os, sys, time\nimport torch\ndef probe(x):\n    {indented}\n    return x * 2\n"

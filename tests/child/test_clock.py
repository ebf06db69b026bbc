"""The time limit of learner code: computing and sleeping count, being stopped does not; no other code is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest
from helpers.probes import PATIENT
from helpers.processes import wait_until
from helpers.workers import make_job

from grader.child import clock as clock_module
from grader.child import job_answer, protocol, reply_facts
from grader.child.clock import MOST_CAUGHT, Clock, OutOfTime
from grader.sandbox.checked_reply import Call, Facts, read
from grader.sandbox.worker import Worker

PREFACE = "import os, signal, time\nfrom grader.child.clock import Clock, OutOfTime\n"
X = np.arange(6, dtype="float32").reshape(2, 3)


def run(body: str, *, still: float = 0.0) -> str:
    """Return the output of a process; where it stops itself, it stands still for so many seconds."""
    with subprocess.Popen([sys.executable, "-c", PREFACE + body], stdout=subprocess.PIPE, text=True) as process:
        if still:
            stopped = os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG
            wait_until(lambda: os.waitid(*stopped) is not None, "it never stopped")
            time.sleep(still)
            process.send_signal(signal.SIGCONT)
        return process.communicate()[0]


def test_a_process_that_stood_still_has_lost_one_tick() -> None:
    body = """
with Clock(0.3) as clock:
    os.kill(os.getpid(), signal.SIGSTOP)
    sum(range(1000))
    print(f"{clock.is_over()} {clock._used() < 0.1}")
"""
    assert run(body, still=0.5).split() == ["False", "True"]


@pytest.mark.parametrize("does", ["while True: pass", "time.sleep(60)", "while True: time.sleep(0.01)"])
def test_who_computes_or_sleeps_is_stopped_there(does: str) -> None:
    body = f"""
def learner():
    {does}
try:
    with Clock(0.2) as clock:
        clock.run(learner)
except OutOfTime as error:
    print(error.__traceback__.tb_next.tb_next.tb_lineno)
"""
    assert run(body).strip() == "5"


def test_a_part_ends_before_the_whole() -> None:
    body = """
def learner(seconds):
    while not seconds: sum(())
    time.sleep(seconds)
with Clock(0.6) as clock:
    clock.allow(0.1)
    try:
        clock.run(learner, 0)
    except OutOfTime:
        print(clock.is_over())
    clock.allow(None)
    try:
        clock.run(learner, 60)
    except OutOfTime:
        print(clock.is_over())
"""
    assert run(body).split() == ["False", "True"]


# --- whatever the moment -----------------------------------------------------------------------------------------


@pytest.fixture
def no_timer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Disable the timer, so that ticks come from the test alone; restore the signal's handler afterwards."""
    before = signal.getsignal(signal.SIGALRM)
    monkeypatch.setattr(clock_module, "_set_timer", lambda seconds: None)
    yield
    signal.signal(signal.SIGALRM, before)


def test_one_signal_after_the_other_raises_once(no_timer: None) -> None:
    """Two signals are pending at once, and a third arrives while the exception is handled: one exception is raised."""
    for _ in range(200):
        caught = []
        with Clock(60) as clock:
            clock.part = -1.0  # time is up
            try:
                clock.run(send_two)
            except OutOfTime as error:
                caught.append(error)
                os.kill(os.getpid(), signal.SIGALRM)
        assert len(caught) == 1


def send_two() -> None:
    """Send this process two signals that are delivered at once."""
    signals = {signal.SIGALRM, signal.SIGPROF}
    before = signal.signal(signal.SIGPROF, signal.getsignal(signal.SIGALRM))
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        for number in signals:
            signal.pthread_kill(threading.get_ident(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    finally:
        signal.signal(signal.SIGPROF, before)


SOURCE = """
def probe(x):
    x.g = x * 2
    try:
        for _ in range(2):
            x.seen = True
    finally:
        x.done = 1
    return x + 1
"""
CALLS = 3


@contextmanager
def time_up_at(opcode: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Let the time end after so many instructions of the calls of a job, with a tick there and at each one after it.

    Yields:
        A list of one entry: whether the moment has come.
    """
    clocks: list[Clock] = []
    come, left = [False], opcode
    files = {job_answer.__file__, reply_facts.__file__, clock_module.__file__, "probe.py"}

    def made(self: Clock) -> Clock:
        clocks.append(self)
        return enter(self)

    def tick(frame: FrameType) -> None:
        if come[0] and frame.f_code.co_filename != clock_module.__file__:
            clocks[-1].part = -1.0
            clocks[-1]._on_tick(signal.SIGALRM, frame)

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in files or not clocks:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            left -= 1
            if left == 0:
                come[0] = True
                sys.setprofile(lambda frame, _event, _argument: tick(frame))
                tick(frame)
        return trace

    enter = Clock.__enter__
    monkeypatch.setattr(Clock, "__enter__", made)
    sys.settrace(trace)
    try:
        yield come
    finally:
        sys.settrace(None)
        sys.setprofile(None)
        monkeypatch.setattr(Clock, "__enter__", enter)


def answered() -> Facts:
    reply = job_answer.answer(make_job(SOURCE, *[{"x": X}] * CALLS))
    return read(protocol.unpack(reply.pack()))


def test_at_whatever_moment_time_is_up_every_call_is_reported(no_timer: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here at every 61st moment; `thorough/test_every_moment.py` has more of them."""
    assert_every_call_is_reported(61, monkeypatch)


def assert_every_call_is_reported(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the clock stops learner code, and never the grader's own, which runs before and after it."""
    answered()
    stopped, moment = 0, 0
    while True:
        moment += step
        with time_up_at(moment, monkeypatch) as come:
            facts = answered()
        if not come[0]:
            break
        errors = [call.error for call in facts.calls] if facts.error is None else [facts.error]
        assert len(facts.calls) == (CALLS if facts.error is None else 0), moment
        assert {error.kind for error in errors if error is not None} <= {"timeout"}, moment
        stopped += any(call.error is not None for call in facts.calls)
    assert moment > 500
    assert stopped > 170 // step


# --- learner code that catches every exception -------------------------------------------------------------------

CATCHES = {
    "asleep": """
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
""",
    "computing": """
    while True:
        try:
            while True:
                pass
        except:
            pass
""",
    "at its end": """
    try:
        while True:
            pass
    finally:
        while True:
            pass
""",
}


@pytest.mark.parametrize("does", CATCHES.values(), ids=CATCHES)
def test_who_catches_every_exception_is_stopped_in_every_call(does: str, worker: Worker) -> None:
    """Each call reports what it had stored before."""
    source = f"import time\ndef probe(x):\n    x.g = x * 2{does}"
    reply = worker.run(make_job(source, *[{"x": X}] * CALLS, time_limit=0.3), PATIENT)
    assert isinstance(reply, protocol.Frame)
    observed = read(reply)
    assert [kind(call) for call in observed.calls] == ["timeout"] * CALLS
    for call in observed.calls:
        np.testing.assert_array_equal(call.stored["x"]["g"].array, X * 2)
    first = observed.calls[0].error
    assert first is not None
    assert first.lines
    assert 4 <= first.lines[-1] <= 2 + len(does.splitlines())


def kind(call: Call) -> str | None:
    return None if call.error is None else call.error.kind


@pytest.mark.parametrize("does", CATCHES.values(), ids=CATCHES)
def test_who_catches_every_exception_while_it_is_loaded_is_stopped(does: str, worker: Worker) -> None:
    source = f"import time\n{textwrap.dedent(does)}def probe(x): pass"
    reply = worker.run(make_job(source, {"x": X}, time_limit=0.3), PATIENT)
    assert isinstance(reply, protocol.Frame)
    error = read(reply).error
    assert error is not None
    assert error.kind == "timeout"


def test_whoever_catches_it_a_few_times_is_not_given_up(no_timer: None) -> None:
    given_up = []

    def learner() -> int:
        for _ in range(MOST_CAUGHT):
            with pytest.raises(OutOfTime):
                os.kill(os.getpid(), signal.SIGALRM)
        return 7

    with Clock(60, given_up.append) as clock:  # type: ignore[arg-type]
        clock.part = -1.0  # time is up
        assert clock.run(learner) == 7
    assert not given_up

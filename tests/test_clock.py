"""The time limit of learner code: computing and sleeping count, standing still does not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from processes import wait_until

PREFACE = "import os, signal, time\nfrom grader.child.clock import Clock, OutOfTime\n"


def run(body: str, *, still: float = 0.0) -> str:
    """What a process of its own prints, stopped for so many seconds where it stops itself."""
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
try:
    with Clock(0.2):
        {does}
except OutOfTime as error:
    print(error.__traceback__.tb_lineno)
"""
    assert run(body).strip() == "6"


def test_a_part_ends_before_the_whole() -> None:
    body = """
with Clock(0.6) as clock:
    clock.allow(0.1)
    try:
        while True: sum(())
    except OutOfTime:
        print(clock.is_over())
    clock.allow(None)
    try:
        time.sleep(60)
    except OutOfTime:
        print(clock.is_over())
"""
    assert run(body).split() == ["False", "True"]

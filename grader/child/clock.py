"""The time limit inside the child: code that computes for too long, or sleeps, is stopped; waiting its turn is free."""

from __future__ import annotations

import math
import signal
import time
from typing import Self

ASLEEP = 0.02  # of the time that passed: on a machine with fifty others at work, whoever computes still gets as much
TICKS, SHORTEST = 20, 0.001  # a part of the time is seen to pass in so many ticks; no tick is shorter (in seconds)


class OutOfTime(BaseException):
    """The time limit passed while learner code was running."""


class Clock:
    """Raises `OutOfTime` in learner code after so many seconds on a processor, or asleep, where there are timers.

    Time passes in ticks: while a machine stands still, or this process is stopped, it is one tick that passes.
    """

    def __init__(self, seconds: float) -> None:
        self.left, self.tick = seconds, math.inf
        self._begin()

    def __enter__(self) -> Self:
        if hasattr(signal, "setitimer"):
            for number in (signal.SIGALRM, signal.SIGPROF):
                signal.signal(number, self._hear)
        self.allow(None)
        return self

    def __exit__(self, *_: object) -> None:
        _set_timers(0, 0)

    def allow(self, seconds: float | None) -> None:
        """Begin a part that may take so long, or all that is left."""
        self.left -= self._used()
        self.part = max(self.left if seconds is None else min(seconds, self.left), 1e-6)
        self._begin()
        if hasattr(signal, "setitimer"):
            self.tick = max(self.part / TICKS, SHORTEST)
            _set_timers(self.part, self.tick)

    def is_over(self) -> bool:
        """All of the time has passed."""
        return self._used() >= self.left

    def _begin(self) -> None:
        self.ticks, self.began, self.began_computing = 0, time.monotonic(), time.process_time()

    def _used(self) -> float:
        """Seconds of this part so far: those on a processor, or all of them where it slept through nearly all."""
        computed = time.process_time() - self.began_computing
        passed = min(time.monotonic() - self.began, (self.ticks + 1) * self.tick)
        return passed if computed < ASLEEP * passed else computed

    def _hear(self, number: int, _frame: object) -> None:
        if number == signal.SIGPROF or self._used() >= self.part:
            _set_timers(0, 0)  # once, whichever of the two came first
            raise OutOfTime
        self.ticks += 1


def _set_timers(computing: float, tick: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, computing)
        signal.setitimer(signal.ITIMER_REAL, tick, tick)

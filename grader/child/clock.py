"""The time limit inside the child: code that computes for too long, or sleeps, is stopped; waiting its turn is free."""

from __future__ import annotations

import signal
import time
from typing import Self

ASLEEP = 0.02  # of the time that passed: on a machine with fifty others at work, whoever computes still gets as much


class OutOfTime(BaseException):
    """The time limit passed while learner code was running."""


class Clock:
    """Raises `OutOfTime` in learner code after so many seconds on a processor, or asleep, where there are timers."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds
        self.part: float | None = None
        self._begin()

    def __enter__(self) -> Self:
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, self._time_passed)
            signal.signal(signal.SIGPROF, self._time_used)
        self.allow(None)
        return self

    def __exit__(self, *_: object) -> None:
        self._set(0)

    def allow(self, seconds: float | None) -> None:
        """Begin a part that may take so long, or all that is left."""
        self.left -= self._used()
        self.part = max(self.left if seconds is None else min(seconds, self.left), 1e-6)
        self._begin()
        self._set(self.part)

    def is_over(self) -> bool:
        """All of the time has passed."""
        return self._used() >= self.left

    def _begin(self) -> None:
        self.began, self.began_computing = time.monotonic(), time.process_time()

    def _set(self, seconds: float) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, seconds)
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def _used(self) -> float:
        """Seconds of this part so far: those on a processor, or all of them where it slept through nearly all."""
        computed, passed = time.process_time() - self.began_computing, time.monotonic() - self.began
        return passed if computed < ASLEEP * passed else computed

    def _time_used(self, _number: int, _frame: object) -> None:
        self._set(0)  # once, whichever of the two came first
        raise OutOfTime

    def _time_passed(self, _number: int, _frame: object) -> None:
        left = (self.part or 0.0) - self._used()
        if left <= 0:
            self._set(0)
            raise OutOfTime
        signal.setitimer(signal.ITIMER_REAL, left)

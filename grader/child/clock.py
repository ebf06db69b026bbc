"""The time limit inside the child: code that computes for too long, or sleeps, is stopped; waiting its turn is free.

There is one timer and one place where time is up: the handler of that timer. It stops learner code alone, which is
whatever `Clock.run` calls. The grader's own code is never interrupted, wherever a signal finds it.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn, ParamSpec, Self, TypeVar

ASLEEP = 0.02  # of the time that passed: on a machine with fifty others at work, whoever computes still gets as much
TICKS, SHORTEST = 20, 0.001  # a part of the time is seen to pass in so many ticks; no tick is shorter (in seconds)
AGAIN = 0.005  # seconds until code that caught the exception hears it again
MOST_CAUGHT = 10  # times that code may catch it before it is given up
LATER = 0.25  # of the time limit, for all calls that come after one that took too long
P = ParamSpec("P")
T = TypeVar("T")
GiveUp = Callable[["OutOfTime"], NoReturn]


class OutOfTime(BaseException):
    """The time limit passed while learner code was running."""


def time_of_job(time_limit: float) -> float:
    """Return how many seconds a job may take in all: the calls after one that took too long have a little more."""
    return time_limit * (1 + LATER)


class Clock:
    """Raises `OutOfTime` in learner code after so many seconds on a processor, or asleep, where there are timers.

    Time passes in ticks: while a machine stands still, or this process is stopped, it is one tick that passes.

    Args:
        seconds: how much time there is.
        give_up: called, in the handler, with the first exception where learner code catches every one; never returns.
    """

    def __init__(self, seconds: float, give_up: GiveUp | None = None) -> None:
        self.left, self.tick, self.give_up, self.most_caught = seconds, math.inf, give_up, MOST_CAUGHT
        self._begin()

    def __enter__(self) -> Self:
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, self._on_tick)
        self.allow(None)
        return self

    def __exit__(self, *_: object) -> None:
        _set_timer(0)

    def allow(self, seconds: float | None) -> None:
        """Begin a part that may take so long, or all that is left."""
        self.left -= self._used()
        self.part = max(self.left if seconds is None else min(seconds, self.left), 1e-6)
        self._begin()
        self._wind()

    def extend(self, seconds: float) -> None:
        """Begin a last part of so many seconds, however little is left."""
        self.left = self._used() + seconds
        self.allow(None)

    def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call learner code.

        Raises:
            OutOfTime: it took too long.
        """
        return work(*args, **kwargs)

    def is_over(self) -> bool:
        """Return whether all of the time has passed."""
        return self._used() >= self.left

    def _begin(self) -> None:
        self.caught: list[OutOfTime] = []
        self.ticked, self.began, self.began_computing = 0.0, time.monotonic(), time.process_time()

    def _used(self) -> float:
        """Return the seconds of this part so far on a processor, or all of them where it slept through nearly all."""
        computed = time.process_time() - self.began_computing
        passed = min(time.monotonic() - self.began, self.ticked + self.tick)
        return passed if computed < ASLEEP * passed else computed

    def _wind(self) -> None:
        """Have the next tick come soon, and at the end of the part at the latest."""
        left = self.part - self._used()
        self.tick = max(min(self.part / TICKS, left), SHORTEST) if left > 0 else AGAIN
        _set_timer(self.tick)

    def _on_tick(self, _number: int, frame: FrameType | None) -> None:
        self.ticked += self.tick
        self._wind()
        if self._used() < self.part or not _is_in_learner_code(frame):
            return
        self.caught.append(OutOfTime())
        if len(self.caught) > self.most_caught and self.give_up is not None:
            self.most_caught = 0  # the next call will not be better
            self.give_up(self.caught[0])
        raise self.caught[-1]


def _is_in_learner_code(frame: FrameType | None) -> bool:
    """Return whether `Clock.run` has called what runs there, and no handler has interrupted it since."""
    while frame is not None and frame.f_code is not Clock._on_tick.__code__:
        outside = frame.f_back
        if outside is not None and outside.f_code is Clock.run.__code__:
            return True
        frame = outside
    return False


def _set_timer(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)

"""The time limit in the child: code that computes or sleeps for too long is stopped; waiting for a processor is free.

One timer measures it, and only the handler of that timer ends the time. It stops learner code alone, which is whatever
`Clock.run` calls. The grader's own code is never interrupted, wherever a signal finds it.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn, ParamSpec, Self, TypeVar

ASLEEP = 0.02  # share of real time: code that computes less than this sleeps; with fifty busy others it gets as much
TICKS = 20  # in which the time of a part is measured
SHORTEST, LAST = 0.03, 0.001  # seconds, of a tick and of the last one: each tick takes time from code that sleeps
AGAIN = 0.005  # seconds after which the exception is raised once more in code that caught it
MOST_CAUGHT = 10  # times that code may catch the exception before its call is given up
LATER = 0.25  # share of the time limit, for all calls after one that took too long
P = ParamSpec("P")
T = TypeVar("T")
GiveUp = Callable[["OutOfTime"], NoReturn]


class OutOfTime(BaseException):
    """The time limit passed while learner code was running."""


def time_of_job(time_limit: float) -> float:
    """Return how many seconds a job may take in all: the time limit, and a share for the calls after a timeout."""
    return time_limit * (1 + LATER)


class Clock:
    """Raise `OutOfTime` in learner code after so many seconds on a processor, or asleep, where the system has timers.

    The time can be divided into parts, such as one for each cell (`allow`). It passes in ticks: a machine that stands
    still, or a process that is stopped, loses one tick at most.

    Args:
        seconds: the time for all learner code together.
        give_up: called in the handler, with the first exception, if learner code catches every one; never returns.

    Attributes:
        remaining: the seconds that were left for all learner code when the current part began.
        part: the seconds that the current part may take.
        tick: the seconds from one signal of the timer to the next.
    """

    def __init__(self, seconds: float, give_up: GiveUp | None = None) -> None:
        """Begin with `seconds` in all; the timer is armed when the context is entered.

        If learner code catches every `OutOfTime`, `give_up` is called with the first one, and never returns.
        """
        self.remaining, self.tick, self.give_up, self.most_caught = seconds, math.inf, give_up, MOST_CAUGHT
        self._begin()

    def __enter__(self) -> Self:
        """Install the handler of the timer's signal, and arm the timer for all of the time."""
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, self._on_tick)
        self.allow(None)
        return self

    def __exit__(self, *_: object) -> None:
        """Disarm the timer."""
        _set_timer(0)

    def allow(self, seconds: float | None) -> None:
        """Begin a part of the job that may take this many seconds, or what remains if that is less.

        `None` allows all that remains.
        """
        self.remaining -= self._used()
        self.part = max(self.remaining if seconds is None else min(seconds, self.remaining), 1e-6)
        self._begin()
        self._arm_next_tick()

    def extend(self, seconds: float) -> None:
        """Begin a last part of the job that may take this many seconds, however little time remains."""
        self.remaining = self._used() + seconds
        self.allow(None)

    def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `work` with these arguments, and return its result; only learner code called this way is interrupted.

        Raises:
            OutOfTime: the time of the current part has passed.
        """
        return work(*args, **kwargs)

    def is_over(self) -> bool:
        """Return whether all of the time has passed, and not only that of the current part."""
        return self._used() >= self.remaining

    def _begin(self) -> None:
        """Reset the measurement of the current part: no tick has passed and no exception was caught."""
        self.caught: list[OutOfTime] = []
        self.ticked, self.began, self.began_computing = 0.0, time.monotonic(), time.process_time()

    def _used(self) -> float:
        """Return the seconds that the current part has used: processor time, or real time if it has mostly slept."""
        computed = time.process_time() - self.began_computing
        passed = min(time.monotonic() - self.began, self.ticked + self.tick)
        return passed if computed < ASLEEP * passed else computed

    def _arm_next_tick(self) -> None:
        """Arm the timer for the next tick, which comes at the end of the part at the latest."""
        remaining = self.part - self._used()
        is_over = remaining <= 0 or bool(self.caught)
        self.tick = AGAIN if is_over else min(max(self.part / TICKS, SHORTEST), max(remaining, LAST))
        _set_timer(self.tick)

    def _on_tick(self, _number: int, frame: FrameType | None) -> None:
        """Handle the timer's signal: arm the next tick, and raise `OutOfTime` in learner code whose time has passed."""
        self.ticked += self.tick
        self._arm_next_tick()
        is_over = bool(self.caught) or self._used() >= self.part  # raising costs a sleeper time: once over, always over
        if not is_over or not _is_in_learner_code(frame):
            return
        self.caught.append(OutOfTime())
        if len(self.caught) > self.most_caught and self.give_up is not None:
            self.most_caught = 0  # the next call will not be better
            self.give_up(self.caught[0])
        raise self.caught[-1]


def _is_in_learner_code(frame: FrameType | None) -> bool:
    """Return whether `Clock.run` called the code of this frame, and no signal handler has interrupted it since."""
    while frame is not None and frame.f_code is not Clock._on_tick.__code__:
        outside = frame.f_back
        if outside is not None and outside.f_code is Clock.run.__code__:
            return True
        frame = outside
    return False


def _set_timer(seconds: float) -> None:
    """Arm the timer of real time to send SIGALRM after `seconds`; 0 disarms it. Windows has no such timer."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)

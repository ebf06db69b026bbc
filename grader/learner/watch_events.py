"""The events that a watch waits for besides keys: saved files, and a terminal of another size."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from grader.course import Course
from grader.errors import UsageError

SETTLING = 30  # milliseconds in which an editor may write a file more than once
RESIZED = "resized"
Event = str | frozenset[Path]


@contextlib.contextmanager
def resizes(events: queue.SimpleQueue[Event]) -> Iterator[None]:
    """Report when the terminal has another size, or is back after the program was suspended."""
    numbers = [getattr(signal, name) for name in ("SIGWINCH",) if hasattr(signal, name)]
    before = [signal.signal(number, lambda *_: events.put(RESIZED)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextlib.contextmanager
def saves(course: Course, events: queue.SimpleQueue[Event]) -> Iterator[None]:
    """Report the files that change below `exercises/`, however the editor saves them.

    Raises:
        UsageError: there is no such folder.
    """
    from watchfiles import watch as changes

    folder = os.path.realpath(course.root / "exercises")
    if not os.path.isdir(folder):
        raise UsageError(f"{course.root} has no exercises/ folder: make a course with: handgrad init my-course")
    stop = threading.Event()

    def listen() -> None:
        found = changes(folder, step=SETTLING, debounce=10 * SETTLING, rust_timeout=500, stop_event=stop,
                        raise_interrupt=False)  # fmt: skip
        for batch in found:
            events.put(frozenset(Path(path) for _, path in batch))

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(2)

"""The events that a watch waits for: keys, saved files, verdicts, and what happens to the terminal."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from grader.course.course import Course
from grader.errors import UsageError

from .watch_checks import Checked

SETTLING = 30  # milliseconds in which an editor may write a file more than once


@dataclass(frozen=True)
class Key:
    """A key was pressed; in plain mode, a line was typed."""

    name: str


class Happened(Enum):
    """What else can happen; `SAVED` says that some file has changed, and not which."""

    SAVED = "saved"
    RESIZED = "SIGWINCH"
    INTERRUPTED = "SIGINT"
    SUSPENDED = "SIGTSTP"
    CONTINUED = "SIGCONT"


Event = Key | Checked | Happened
Events = queue.SimpleQueue[Event]


@contextlib.contextmanager
def signals(events: Events) -> Iterator[None]:
    """Report Ctrl-C, Ctrl-Z, that the program goes on after it was suspended, and a terminal of another size."""
    before = {}
    for each in (Happened.RESIZED, Happened.INTERRUPTED, Happened.SUSPENDED, Happened.CONTINUED):
        if number := getattr(signal, each.value, None):
            before[number] = signal.signal(number, lambda *_, each=each: events.put(each))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def suspend() -> None:
    """Suspend this program, as Ctrl-Z does where nobody listens; returns when it goes on."""
    listening = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, listening)


@contextlib.contextmanager
def saves(course: Course, events: Events) -> Iterator[None]:
    """Report that a file below `exercises/` has changed, however the editor saves it, and once at the beginning.

    Raises:
        UsageError: there is no such folder.
    """
    from watchfiles import watch as changes

    folder = os.path.realpath(course.root / "exercises")
    if not os.path.isdir(folder):
        raise UsageError(f"{course.root} has no exercises/ folder: make a course with: handgrad init my-course")
    stop = threading.Event()

    def listen() -> None:
        found = changes(folder, step=SETTLING, debounce=10 * SETTLING, rust_timeout=200, yield_on_timeout=True,
                        stop_event=stop, raise_interrupt=False)  # fmt: skip
        for number, batch in enumerate(found):
            if batch or number == 0:  # what was saved before anybody listened
                events.put(Happened.SAVED)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()

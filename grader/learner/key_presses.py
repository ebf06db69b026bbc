"""Reads single key presses from a terminal, while the program goes on printing to it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WAIT = 0.2


@contextmanager
def keyboard(pressed: Callable[[str], None]) -> Iterator[None]:
    """Call `pressed` with each key, from a thread of its own, until the context is left; Ctrl-C stays what it is.

    The end of the input (a closed terminal) is reported as an empty string.
    """
    stop = threading.Event()
    read = _windows_key if sys.platform == "win32" else _posix_key

    def listen() -> None:
        while not stop.is_set():
            key = read()
            if key is not None:
                pressed(key)
            if key == "":
                return

    thread = threading.Thread(target=listen, daemon=True)
    with _one_key_at_a_time():
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(2 * WAIT)


@contextmanager
def _one_key_at_a_time() -> Iterator[None]:
    """No waiting for Enter and no echo; again after the program was suspended, and back to normal at the end."""
    if sys.platform == "win32":
        yield
        return
    import signal
    import termios
    import tty

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)

    def enter(*_: object) -> None:
        tty.setcbreak(fd, termios.TCSADRAIN)

    continued = signal.signal(signal.SIGCONT, enter)
    try:
        enter()
        yield
    finally:
        signal.signal(signal.SIGCONT, continued)
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _posix_key() -> str | None:
    """The next character, `None` if there is none for a moment."""
    import os
    import select

    if not select.select([sys.stdin], [], [], WAIT)[0]:
        return None
    try:
        return os.read(sys.stdin.fileno(), 64).decode("utf-8", "replace")[:1]
    except OSError:  # the terminal is gone
        return ""


def _windows_key() -> str | None:
    import msvcrt
    import time

    if not msvcrt.kbhit():  # type: ignore[attr-defined,unused-ignore]
        time.sleep(WAIT / 4)
        return None
    return str(msvcrt.getwch())  # type: ignore[attr-defined,unused-ignore]

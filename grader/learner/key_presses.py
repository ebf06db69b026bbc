"""Reads key presses from a terminal, while the program goes on printing to it; whole lines in plain mode."""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator

ENDED, ENTER, BACKSPACE, ESCAPE = "", "enter", "backspace", "escape"
UP, DOWN, PAGE_UP, PAGE_DOWN = "up", "down", "page up", "page down"
_SEQUENCE = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
_NAMES = {
    "\r": ENTER, "\n": ENTER, "\x7f": BACKSPACE, "\b": BACKSPACE, "\x1b": ESCAPE,
    "\x1b[A": UP, "\x1bOA": UP, "\x1b[B": DOWN, "\x1bOB": DOWN, "\x1b[5~": PAGE_UP, "\x1b[6~": PAGE_DOWN,
}  # fmt: skip
_WINDOWS_NAMES = {"H": UP, "P": DOWN, "I": PAGE_UP, "Q": PAGE_DOWN}
Pressed = Callable[[str], None]


class Modes:
    """What the terminal does with what is typed: single keys without an echo, or as it was found.

    Args:
        whole_lines: leave it as it was found: lines are typed, and ended with Enter.
    """

    def __init__(self, whole_lines: bool) -> None:
        self.whole_lines = whole_lines
        self.found = None
        if sys.platform != "win32":
            import termios

            self.found = termios.tcgetattr(sys.stdin.fileno())

    def enter(self) -> None:
        """Single keys, also after another program has had the terminal."""
        if sys.platform != "win32" and not self.whole_lines:
            import termios
            import tty

            _until_done(lambda: tty.setcbreak(sys.stdin.fileno(), termios.TCSADRAIN))

    def leave(self) -> None:
        """As it was found."""
        if sys.platform != "win32" and (found := self.found) is not None:
            import termios

            with contextlib.suppress(termios.error):  # the terminal is gone
                _until_done(lambda: termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, found))


def _until_done(change: Callable[[], object]) -> None:
    """Change the terminal's modes; a signal in between, as of Ctrl-Z and `fg`, is no reason to leave it half done."""
    import termios

    while True:
        try:
            change()
            return
        except termios.error as error:
            if error.args[0] != errno.EINTR:
                raise


@contextlib.contextmanager
def keyboard(pressed: Pressed, *, whole_lines: bool = False) -> Iterator[Modes]:
    """Call `pressed` with each key, from a thread of its own, until the context is left.

    A key is a character, or one of the names above; with `whole_lines`, it is a line. The end of the input (a closed
    terminal) is `ENDED`. Ctrl-C and Ctrl-Z stay what they are.
    """
    modes, stop = Modes(whole_lines), threading.Event()
    listen = _windows_keys if sys.platform == "win32" else _posix_keys
    woken, wake = os.pipe()
    thread = threading.Thread(target=listen, args=(pressed, stop, woken, whole_lines), daemon=True)
    modes.enter()
    thread.start()
    try:
        yield modes
    finally:
        stop.set()
        os.close(wake)
        thread.join()
        os.close(woken)
        modes.leave()


def keys_in(text: str) -> Iterator[str]:
    """The keys that were pressed for a terminal to send this text; sequences without a name are passed over."""
    for found in _SEQUENCE.findall(text):
        if name := _NAMES.get(found, found if found.isprintable() else None):
            yield name


def _posix_keys(pressed: Pressed, stop: threading.Event, woken: int, whole_lines: bool) -> None:
    import select

    decode, fd = codecs.getincrementaldecoder("utf-8")("replace").decode, sys.stdin.fileno()
    while not stop.is_set():
        if fd not in select.select([fd, woken], [], [])[0]:
            continue
        try:
            data = os.read(fd, 4096)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            pressed(ENDED)
            return
        text = decode(data)
        for key in (line.strip() or ENTER for line in text.splitlines()) if whole_lines else keys_in(text):
            pressed(key)


def _windows_keys(pressed: Pressed, stop: threading.Event, _woken: int, whole_lines: bool) -> None:
    import msvcrt
    import time

    typed = ""
    while not stop.is_set():
        if not msvcrt.kbhit():  # type: ignore[attr-defined,unused-ignore]
            time.sleep(0.05)  # Windows has nothing to wait for
            continue
        read = msvcrt.getwche if whole_lines else msvcrt.getwch  # type: ignore[attr-defined,unused-ignore]
        key = str(read())
        if whole_lines and key == "\r":
            print()
            pressed(typed.strip() or ENTER)
            typed = ""
        elif whole_lines:
            typed = typed[:-1] if key == "\b" else typed + key
        elif key in "\x00\xe0":  # a key without a character has a second code
            pressed(_WINDOWS_NAMES.get(str(read()), ESCAPE))
        else:
            for name in keys_in(key):
                pressed(name)

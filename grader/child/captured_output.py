"""Captures what learner code prints, up to a limit, and gives it no keyboard."""

from __future__ import annotations

import io
import pdb
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

LIMIT = 16_000


class NoKeyboard(Exception):
    """Learner code asks for what somebody would type."""


def _refuse(*_args: object, **_kwargs: object) -> NoReturn:
    raise NoKeyboard("there is no keyboard in a check or a graded run: take input(), breakpoint() and pdb out")


class CappedText(io.TextIOBase):
    """A terminal without a keyboard: it keeps the first `LIMIT` characters that are written."""

    encoding = "utf-8"
    read = readline = __next__ = _refuse

    def __init__(self) -> None:
        self.kept, self.silent = "", False

    def writable(self) -> bool:
        return True

    def reconfigure(self, **_options: object) -> None:
        """As a real stdout has it; this one takes every character anyhow."""

    def write(self, text: str) -> int:
        if len(self.kept) < LIMIT and not self.silent:
            self.kept += str(text[: LIMIT - len(self.kept)])
        return len(text)

    def stop_keeping(self) -> None:
        """Keep nothing of what comes now: the same code runs again, on other inputs."""
        self.silent = True

    def text(self) -> str:
        """What was kept, with a note where something was not."""
        return self.kept if len(self.kept) < LIMIT else f"{self.kept}\n... (the rest was not kept)"


@contextmanager
def capture_output() -> Iterator[CappedText]:
    """Collect stdout and stderr of Python code in one capped text; whoever reads from stdin is refused."""
    stream, saved = CappedText(), (sys.stdout, sys.stderr, sys.stdin, sys.breakpointhook, pdb.set_trace)
    sys.stdout = sys.stderr = sys.stdin = stream
    sys.breakpointhook = pdb.set_trace = _refuse
    try:
        yield stream
    finally:
        sys.stdout, sys.stderr, sys.stdin, sys.breakpointhook, pdb.set_trace = saved

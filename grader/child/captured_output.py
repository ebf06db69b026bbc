"""Captures what learner code prints, up to a limit."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT = 16_000


class CappedText(io.TextIOBase):
    """A text stream that keeps its first `LIMIT` characters."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.left = LIMIT
        self.silent = False

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.left > 0 and not self.silent:
            kept = str(text[: self.left])
            self.parts.append(kept)
            self.left -= len(kept)
        return len(text)

    def stop_keeping(self) -> None:
        """Keep nothing of what comes now: the same code runs again, on other inputs."""
        self.silent = True

    def text(self) -> str:
        """What was kept, with a note where something was not."""
        note = "" if self.left > 0 else "\n... (the rest was not kept)"
        return "".join(self.parts).encode("utf-8", "replace").decode() + note


@contextmanager
def capture_output() -> Iterator[CappedText]:
    """Collect stdout and stderr of Python code in one capped text."""
    stream, saved = CappedText(), (sys.stdout, sys.stderr)
    sys.stdout = sys.stderr = stream
    try:
        yield stream
    finally:
        sys.stdout, sys.stderr = saved

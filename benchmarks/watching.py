"""How long a learner who watches waits: from a save to the verdict on the screen."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from collections.abc import Sequence
from pathlib import Path

START, LONGEST = 120.0, 10.0


def waits(command: Sequence[str], folder: Path, file: Path, versions: Sequence[tuple[str, str]]) -> list[float]:
    """Return the seconds from each save until the terminal shows the verdict on that version.

    Args:
        command: the command that watches `folder`, which gets a terminal of its own.
        folder: the course folder.
        file: the file that is saved.
        versions: texts of the file, in turn, and what is shown of each and not of the one before.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvp(command[0], command)
    try:
        _shown(terminal, " of ", START)  # how far one is stands below the first verdict
        return [_wait(terminal, file, *version) for version in versions]
    finally:
        os.kill(pid, signal.SIGINT)
        os.close(terminal)
        os.waitpid(pid, 0)


def _wait(terminal: int, file: Path, text: str, shows: str) -> float:
    started = time.perf_counter()
    file.write_text(text)
    _shown(terminal, shows, LONGEST)
    waited = time.perf_counter() - started
    time.sleep(0.3)
    while select.select([terminal], [], [], 0)[0]:
        os.read(terminal, 1 << 16)
    return waited


def _shown(terminal: int, text: str, limit: float) -> None:
    seen, deadline = "", time.monotonic() + limit
    while text not in seen:
        if not select.select([terminal], [], [], max(deadline - time.monotonic(), 0))[0]:
            raise SystemExit(f"the terminal never showed {text!r}, but:\n{seen}")
        seen += os.read(terminal, 1 << 16).decode(errors="replace")

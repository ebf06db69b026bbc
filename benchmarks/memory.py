"""The most memory that a running `handgrad grade` and its warm processes take, as the kernel counts it (Linux)."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LOOK = 0.05


@dataclass(frozen=True)
class Peaks:
    """Peak resident memory in KiB, and the wall time of the command.

    Args:
        grader: of the command itself.
        warm: of the largest warm process; those of learner code, forked from it, do not count.
    """

    grader: int
    warm: int
    seconds: float


def peaks(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Peaks:
    """Run a command that succeeds, and look at its processes until it ends."""
    started = time.perf_counter()
    grader = warm = 0
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            grader = max(grader, _peak(process.pid))
            warm = max([warm, *(_peak(pid) for pid in _warm(process.pid))])
            time.sleep(LOOK)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return Peaks(grader, warm, time.perf_counter() - started)


def _warm(grader: int) -> Iterator[int]:
    """Return the warm processes below the grader, inside or outside a sandbox."""
    for pid in _children(grader):
        if _read(pid, "comm").strip() == "bwrap":
            yield from _warm(pid)
        else:
            yield pid


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in _read(task, "children").split()]
    return []


def _peak(pid: int) -> int:
    found = re.search(r"VmHWM:\s*(\d+)", _read(pid, "status"))
    return int(found[1]) if found else 0


def _read(process: int | Path, name: str) -> str:
    """Return the content of a file about a process; empty if the process has ended."""
    with suppress(OSError):
        return (Path("/proc") / str(process) / name).read_text()
    return ""

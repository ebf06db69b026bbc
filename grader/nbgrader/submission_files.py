"""Tells a submission's own files from links, pipes and the like, which only look like files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from nbgrader.utils import parse_utc
from traitlets.log import get_logger

from grader.safe_text import one_line

LARGEST = 64 << 20
BLOCK, HOLLOW = 512, 100  # bytes; times smaller: no file system packs text so well
TIMESTAMP = "timestamp.txt"
LONGEST_TIMESTAMP = 100
SET_ASIDE = ".unreadable"


def why_unread(path: Path, folder: Path) -> str:
    """What something is that must not be opened; empty for a file of the submission's own, or where nothing is.

    A link may lead to what is no submission: a worked solution, a neighbour's notebook. A pipe is waited for without
    end.

    Args:
        folder: the submission that it lies in.
    """
    if folder.is_symlink() or (path.is_symlink() and not _leads_inside(path, folder)):
        return "a link that leads out of the submission"
    try:
        found = path.stat()
    except OSError:
        return ""
    if stat.S_ISDIR(found.st_mode):
        return "a folder"
    if not stat.S_ISREG(found.st_mode):
        return "no file, but a pipe or a device"
    return f"larger than {LARGEST >> 20} MiB" if found.st_size > LARGEST else ""


def _leads_inside(path: Path, folder: Path) -> bool:
    return path.exists() and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def remove_traps(folder: Path) -> None:
    """Take out of a submission what nbgrader would follow out of it, wait for, or stop at, when it copies the files.

    Links that lead out, pipes, devices and hollow files hold nothing of the student's; notebooks are left, for they are
    explained.
    """
    if folder.is_symlink():
        return  # it is somebody else's
    for path in _files_below(folder):
        why = "" if path.name.endswith(".ipynb") else why_unread(path, folder)
        if why and (path.is_symlink() or not path.is_file() or _is_sparse(path)):
            path.unlink()
            _say(f"{path} was taken away: it is {why}")
    path = folder / TIMESTAMP
    if path.exists() and timestamp_in(folder) is None and (path.is_dir() or path.stat().st_size):
        path.rename(path.with_name(TIMESTAMP + SET_ASIDE))
        _say(f"{path} is now called {TIMESTAMP}{SET_ASIDE}: no time can be read in it")


def _is_sparse(path: Path) -> bool:
    """Next to nothing of what it says it holds is there, and a copy would hold all of it."""
    found = path.stat()
    return found.st_blocks * BLOCK < found.st_size / HOLLOW


def _files_below(folder: Path) -> Iterator[Path]:
    """Every file in a folder and what looks like one, however deep it lies: `os.walk` calls itself in each folder."""
    waiting = [str(folder)]
    while waiting:
        place, names = waiting.pop(), list[str]()
        with suppress(OSError):
            names = os.listdir(place)
        for path in (os.path.join(place, name) for name in names):
            if not os.path.isdir(path):
                yield Path(path)
            elif not os.path.islink(path):
                waiting.append(path)


def timestamp_in(folder: Path) -> datetime | None:
    """When it was handed in, where that is noted in the folder and can be read."""
    path = folder / TIMESTAMP
    if path.is_file() and not path.is_symlink():
        with suppress(OSError, ValueError, ArithmeticError, TypeError, LookupError), path.open("rb") as file:
            text = file.read(LONGEST_TIMESTAMP + 1).decode().strip()
            found: datetime | None = parse_utc(text) if len(text) <= LONGEST_TIMESTAMP else None
            return found
    return None


def _say(text: str) -> None:
    get_logger().warning("%s", one_line(text))

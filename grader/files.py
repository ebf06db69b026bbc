"""Writes files whole or not at all, and keeps copies of what they replace."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

FOLDER, BACKUPS = ".handgrad", "backups"


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that appears at its end, by way of a temporary one beside it.

    A failure leaves the old file and no litter.

    Raises:
        OSError: the file or its folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            yield file
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, path)
    except BaseException:
        with suppress(FileNotFoundError):  # interrupted when all was done
            os.unlink(unfinished)
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        OSError: the file or its folder cannot be written.
    """
    with whole_file(path) as file:
        file.write(data)


def remedy(error: OSError) -> str:
    """What a person does so that a file can be written the next time."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "make room"
    return "make its folder writable" if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else "put that right"


def remove_unfinished(folder: Path) -> None:
    """Remove what `write_atomically` left when its process was killed; nobody may be writing into this folder."""
    for unfinished in folder.glob(".*.????????.tmp"):
        unfinished.unlink()


def keep_copy(path: Path, root: Path) -> Path | None:
    """Keep a numbered copy of a file below `root`, as `.handgrad/backups/<unit>/<stem>-<n>.py`.

    The unit is the file's folder; it is not said twice of a file with the unit's own name. `None` if there is no file.
    """
    if not path.is_file():
        return None
    unit = "" if path.stem == path.parent.name else path.parent.name
    folder = root / FOLDER / BACKUPS / unit
    folder.mkdir(parents=True, exist_ok=True)
    number = 1
    while (backup := folder / f"{path.stem}-{number}{path.suffix}").exists():
        number += 1
    shutil.copyfile(path, backup)
    return backup

"""Files that appear whole or not at all, and copies of those that are replaced."""

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
    """Open a temporary file in the folder of a path; move it to the path at the end of the context.

    If the context ends in an exception, the file that was at the path stays and the temporary one is removed. The
    folder is made if there is none, and everybody may read the file.

    Yields:
        The temporary file, open for writing bytes.

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
    """Return what a person must do so that a file can be written the next time, such as `make room`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "make room"
    return "make its folder writable" if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else "put that right"


def remove_unfinished(folder: Path) -> None:
    """Remove the temporary files of processes that were killed; no process may be writing into the folder."""
    for unfinished in folder.glob(".*.????????.tmp"):
        unfinished.unlink()


def keep_copy(path: Path, root: Path) -> Path | None:
    """Copy a file below `root` to the first free name `.handgrad/backups/<unit>/<stem>-<n>.py`.

    Args:
        path: the file. The unit is the name of its folder, and is left out if the file has the same name.
        root: the course folder.

    Returns:
        The path of the copy; `None` if there is no file.

    Raises:
        OSError: the file cannot be copied.
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

"""The files and folders of submissions as a tree of named bytes; no link is followed.

An error while the folder of a class is listed concerns one entry alone, so it is raised when that entry is listed.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import IO

from grader.safe_text import one_line

ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")
NOTEBOOKS = (".ipynb", ".ipynb.txt", ".ipynb.json")  # the last two are what browsers save some as
UNREAD_ARCHIVES = (".7z", ".rar", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".xz", ".bz2", ".gz")
HOUSEKEEPING = frozenset({"__pycache__", "__MACOSX", "node_modules", "venv", "env"})
DEEPEST_WORK = 3  # in a folder that is called as a tool's; below `lib/python3/site-packages` lies no student's work
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class UnreadableArchiveError(Exception):
    """Report an archive that is not read; the message is a predicate whose subject is the archive ("is damaged")."""


@dataclass(frozen=True)
class File:
    """Describe one file of a submission, which is opened only when it is read.

    Args:
        upload: the platform's number of the upload that it belongs to, greater for a later one; 0 if there is none.
        why_unread: why it must not be opened, such as that it is a link; empty for a plain file.
        open_stream: opens it for reading.
        folders: the names of the folders from the submission down to the file, where an archive counts as a folder;
            set by the walk through a submission.
        is_in_clone: whether it lies in a clone of a git repository; set by the walk.
        is_repeated: whether its archive holds an earlier file with the same path, which does not count.
    """

    name: str
    why_unread: str = ""
    open_stream: Callable[[], IO[bytes]] = field(default=io.BytesIO, repr=False, compare=False)
    folders: tuple[str, ...] = ()
    upload: int = 0
    is_in_clone: bool = False
    is_repeated: bool = False

    @property
    def path(self) -> str:
        """Return the path of the file inside its submission, in a form that is safe to show on one line."""
        return displayable_name("/".join((*self.folders, self.name)))

    @property
    def is_in_tools_folder(self) -> bool:
        """Return whether the file lies in a folder with a name that tools use, such as env, at any level."""
        return any(map(is_housekeeping, self.folders))

    @property
    def is_archive(self) -> bool:
        """Return whether the file may be unpacked, judged by its name."""
        return self.name.lower().endswith(ARCHIVES) and not self.why_unread

    @property
    def is_notebook(self) -> bool:
        """Return whether the file is a notebook, judged by its name."""
        return self.name.lower().endswith(NOTEBOOKS)

    def read(self, limit: int) -> bytes:
        """Return the first `limit + 1` bytes of the file, so that a longer result shows that it exceeds `limit`.

        Raises:
            OSError: the file cannot be read.
            UnreadableArchiveError: the file lies in an archive that is damaged.
        """
        with self.open_stream() as stream, archive_errors("is damaged"):
            return stream.read(limit + 1)


@dataclass(frozen=True)
class Folder:
    """Describe one folder of a submission or a class, which is listed only when its entries are asked for.

    Args:
        path: its path on disk; `None` inside an archive.
        list_entries: lists its files and folders, in any order.
    """

    name: str
    path: Path | None = None
    list_entries: Callable[[], Iterable[File | Folder]] = field(default=tuple, repr=False, compare=False)

    def all_entries(self, max_entries: int | None = None) -> list[File | Folder]:
        """Return all files and folders in this folder, hidden ones included, sorted by name.

        Args:
            max_entries: how many entries are read, in the order of the file system; all of them if left out.

        Raises:
            OSError: the folder cannot be listed.
        """
        return sorted(islice(self.list_entries(), max_entries), key=attrgetter("name"))


def is_housekeeping(name: str) -> bool:
    """Return whether a name is that of a hidden file or folder, or of one that systems and tools leave behind."""
    return (name.startswith(".") and not name.startswith("..")) or name in HOUSEKEEPING


@contextmanager
def archive_errors(fault: str = "is damaged, or no archive") -> Iterator[None]:
    """Convert the exceptions that a module for archives raises on untrusted bytes, within the block.

    `MemoryError` and an `OSError` with an error number, which are the machine's, pass unchanged.

    Args:
        fault: the predicate that the message begins with, whose subject is the archive.

    Raises:
        UnreadableArchiveError: the block raised any other exception.
    """
    try:
        yield
    except (UnreadableArchiveError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise UnreadableArchiveError(fault) from error


def single_file(path: Path) -> File:
    """Return a file on disk that the user named; a link is followed.

    Raises:
        OSError: the file does not exist.
    """
    status = path.stat()
    return File(path.name, _why_unread(status.st_mode), partial(_open_named, path))


def _open_named(path: Path) -> IO[bytes]:
    """Open a file that the user named; a link is followed."""
    return path.open("rb")


def folder_on_disk(path: Path) -> Folder:
    """Return a folder on disk, which is listed only when its entries are asked for."""
    return Folder(path.name or path.resolve().name, path, partial(_folder_entries, path))


def _folder_entries(path: Path) -> Iterator[File | Folder]:
    """Yield the files and folders in a folder on disk.

    An entry that cannot be looked at becomes a folder that raises the error when it is listed.
    """
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                result = _entry_on_disk(path / entry.name, entry)
            except Exception as error:  # of one entry, not of its folder
                result = failing_folder(entry.name, error)
            yield result


def _entry_on_disk(path: Path, entry: os.DirEntry[str]) -> File | Folder:
    """Return an entry of a folder on disk as a file or a folder; a link is a file that is not read."""
    if entry.is_dir(follow_symlinks=False):
        return Folder(entry.name, path, partial(_folder_entries, path))
    status = entry.stat(follow_symlinks=False)
    return File(entry.name, _why_unread(status.st_mode), partial(_open_on_disk, path))


def failing_folder(name: str, error: Exception) -> Folder:
    """Return a folder in the place of an entry that could not be looked at; listing it raises `error`."""
    return Folder(name, None, partial(_raise_when_listed, error))


def _raise_when_listed(error: Exception) -> Iterable[File | Folder]:
    """Raise `error`; called in place of listing the entries of a folder."""
    raise error


def _open_on_disk(path: Path) -> IO[bytes]:
    """Open a file of a submission for reading.

    Raises:
        OSError: the file cannot be opened, or has become a link since it was listed.
    """
    return os.fdopen(os.open(path, os.O_RDONLY | NO_FOLLOW), "rb")


def _why_unread(mode: int) -> str:
    """Return why a file of this mode must not be opened; empty for a plain file."""
    if stat.S_ISLNK(mode):
        return "it is a link; ask for the file itself"
    return "" if stat.S_ISREG(mode) else "it is no file, but a pipe or a device; ask for the file itself"


def name_bytes(name: str) -> bytes:
    """Return a file name as bytes: the bytes of the name on disk, and UTF-8 for a name that cannot be on disk."""
    try:
        return os.fsencode(name)
    except UnicodeEncodeError:  # half a character, which no name on disk can hold, but one in an archive or a list can
        return name.encode("utf-8", "surrogatepass")


def printable_name(name: str) -> str:
    r"""Return a file name as text that can be written anywhere; two names never give the same text.

    Bytes that are no UTF-8, and whatever does not print, are written as `\xe9`, and a backslash as two.
    """
    text = name_bytes(name).decode("utf-8", "surrogateescape")
    return "".join(c if c.isprintable() and c != "\\" else _escaped(c) for c in text)


def displayable_name(name: str) -> str:
    """Return a file name in a form that is safe to show on one line of a terminal."""
    return one_line(printable_name(name))


def _escaped(character: str) -> str:
    r"""Return the bytes of a character as `\xe9`, and a backslash as two."""
    if character == "\\":
        return "\\\\"
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))

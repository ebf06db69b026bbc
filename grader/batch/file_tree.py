"""What was handed in as a tree of named bytes, a folder or an archive; nothing is unpacked, no link is followed."""

from __future__ import annotations

import calendar
import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, TypeAlias

from grader.errors import UsageError

ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")
UNREAD_ARCHIVES = (".7z", ".rar", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".xz", ".bz2", ".gz")
LARGEST_ARCHIVE = 64 << 20  # bytes of one archive inside a hand-in, packed, and of all that is unpacked of it
LARGEST_CLASS_TAR = (
    1 << 30
)  # bytes of a whole class in one .tar.gz, unpacked: it cannot be read in any order but its own
MOST_ENTRIES, DEEPEST, LONGEST_PATH = 5000, 20, 500
ENTRY_MARK = b"PK\x01\x02"  # heads every entry of a zip's directory
ENCRYPTED = 1
PACKED_PLAINLY = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may take gigabytes to unpack a few bytes
NAME_IT = "name the folder that holds one folder per student, or an archive"
HOUSEKEEPING = frozenset({"__pycache__", "__MACOSX", "node_modules", "venv", "env"})
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class UnreadableArchiveError(Exception):
    """An archive that is not read; says why, after "it"."""


@dataclass(frozen=True)
class File:
    """One file.

    Args:
        modified: seconds since 1970, whole ones; 0 where nothing is known.
        why_unread: what it is that must not be opened, such as a link; empty for a plain file.
        opened: opens it for reading.
    """

    name: str
    modified: int = 0
    why_unread: str = ""
    opened: Callable[[], IO[bytes]] = field(default=io.BytesIO, repr=False, compare=False)

    @property
    def is_archive(self) -> bool:
        return self.name.lower().endswith(ARCHIVES) and not self.why_unread

    def read(self, limit: int) -> bytes:
        """Its bytes, at most `limit` and one more.

        Raises:
            OSError: it cannot be read.
            UnreadableArchiveError: it lies in an archive that is damaged.
        """
        try:
            with self.opened() as stream:
                return stream.read(limit + 1)
        except OSError:
            raise
        except Exception as error:  # whatever a module for archives makes of bytes that somebody chose
            raise UnreadableArchiveError(f"is damaged ({type(error).__name__})") from error


@dataclass(frozen=True)
class Folder:
    """One folder, which is listed when it is asked for.

    Args:
        path: where it lies on disk; `None` inside an archive.
        listed: lists it.
    """

    name: str
    path: Path | None = None
    listed: Callable[[], Iterable[File | Folder]] = field(default=tuple, repr=False, compare=False)

    def entries(self) -> list[File | Folder]:
        """What it holds, by name, without what systems and tools leave behind.

        Raises:
            OSError: it cannot be listed.
        """
        kept = (entry for entry in self.listed() if not is_housekeeping(entry.name))
        return sorted(kept, key=lambda entry: entry.name)


_Entries: TypeAlias = "dict[str, File | _Entries]"


def is_housekeeping(name: str) -> bool:
    """A file or folder that nobody hands in: hidden ones, and what systems and tools leave behind."""
    return (name.startswith(".") and not name.startswith("..")) or name in HOUSEKEEPING


def open_tree(path: Path) -> Folder:
    """A folder on disk, or an archive there.

    Raises:
        UsageError: it is neither, or cannot be read.
    """
    if path.is_dir():
        return _folder_on_disk(path.name or path.resolve().name, path)
    try:
        if not path.name.lower().endswith(ARCHIVES):
            path.open("rb").close()
            raise UsageError(f"{path} is neither a folder nor one of {', '.join(ARCHIVES)}: name one that is.")
        if path.name.lower().endswith(".zip"):
            return _of_zip(path.name, zipfile.ZipFile(path), most=None)
        return _of_tar(path.name, path.read_bytes(), LARGEST_CLASS_TAR, most=None)
    except UsageError:
        raise
    except Exception as error:  # whatever a module for archives makes of bytes that somebody chose
        if isinstance(error, OSError) and error.errno is not None:
            raise UsageError(f"{path} cannot be read ({error.strerror}): {NAME_IT}.") from error
        why = error if isinstance(error, UnreadableArchiveError) else f"is damaged ({type(error).__name__})"
        raise UsageError(f"{path} cannot be read, it {why}: download it again.") from error


def unpacked(file: File) -> Folder:
    """An archive inside a hand-in as a folder, within limits.

    Raises:
        OSError: it cannot be read.
        UnreadableArchiveError: it is damaged, encrypted, or beyond the limits.
    """
    data = file.read(LARGEST_ARCHIVE)
    if len(data) > LARGEST_ARCHIVE:
        raise UnreadableArchiveError(f"is larger than {LARGEST_ARCHIVE >> 20} MiB")
    try:
        if not file.name.lower().endswith(".zip"):
            return _of_tar(file.name, data, LARGEST_ARCHIVE, MOST_ENTRIES)
        if data.count(ENTRY_MARK) > MOST_ENTRIES:  # before anything is made of each
            raise UnreadableArchiveError(f"holds more than {MOST_ENTRIES} files")
        return _of_zip(file.name, zipfile.ZipFile(io.BytesIO(data)), MOST_ENTRIES)
    except UnreadableArchiveError:
        raise
    except Exception as error:  # whatever a module for archives makes of bytes that somebody chose
        raise UnreadableArchiveError(f"is damaged, or no archive ({type(error).__name__})") from error


def single_file(path: Path) -> File:
    """A file on disk, which may be a link that its owner named.

    Raises:
        OSError: it is not there.
    """
    found = path.stat()
    return File(path.name, int(found.st_mtime), _why_unread(found.st_mode), lambda: path.open("rb"))


def _folder_on_disk(name: str, path: Path) -> Folder:
    return Folder(name, path, lambda: _scan(path))


def _scan(path: Path) -> Iterator[File | Folder]:
    with os.scandir(path) as entries:
        for entry in entries:
            place = path / entry.name
            if entry.is_dir(follow_symlinks=False):
                yield _folder_on_disk(entry.name, place)
            else:
                found = entry.stat(follow_symlinks=False)
                yield File(entry.name, int(found.st_mtime), _why_unread(found.st_mode), _opener(place))


def _opener(path: Path) -> Callable[[], IO[bytes]]:
    """Opens a file of a submission, and nothing that has become a link since."""
    return lambda: os.fdopen(os.open(path, os.O_RDONLY | NO_FOLLOW), "rb")


def _why_unread(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "it is a link; ask for the file itself"
    return "" if stat.S_ISREG(mode) else "it is no file, but a pipe or a device; ask for the file itself"


def _of_zip(name: str, archive: zipfile.ZipFile, most: int | None) -> Folder:
    found = [entry for entry in archive.infolist() if not entry.is_dir()]
    if most is not None and sum(entry.file_size for entry in found) > LARGEST_ARCHIVE:
        raise UnreadableArchiveError(f"unpacks to more than {LARGEST_ARCHIVE >> 20} MiB")
    return _as_tree(name, ((entry.filename, _zipped(archive, entry)) for entry in found), most)


def _zipped(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> File:
    why = ""
    if entry.flag_bits & ENCRYPTED:
        why = "it is encrypted; ask for it without a password"
    elif stat.S_ISLNK(entry.external_attr >> 16):
        why = "it is a link; ask for the file itself"
    elif entry.compress_type not in PACKED_PLAINLY:
        why = "it is packed in an unusual way; ask for a plain .zip"
    return File("", _seconds(entry.date_time), why, lambda: archive.open(entry))


def _seconds(date_time: tuple[int, ...]) -> int:
    """A zip's own time, which has no time zone, as seconds; only such are ever compared."""
    try:
        return calendar.timegm((*date_time, 0, 0, 0))
    except (ValueError, OverflowError):
        return 0


def _of_tar(name: str, data: bytes, limit: int, most: int | None) -> Folder:
    if not name.lower().endswith(".tar"):
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            data = stream.read(limit + 1)
    if len(data) > limit:
        raise UnreadableArchiveError(f"unpacks to more than {limit >> 20} MiB")
    members: list[tarfile.TarInfo] = []
    archive = tarfile.TarFile(fileobj=io.BytesIO(data))
    for member in archive:
        members.append(member)
        if most is not None and len(members) > most:
            raise UnreadableArchiveError(f"holds more than {most} files")
    files = (member for member in members if not member.isdir())
    return _as_tree(name, ((member.name, _tarred(archive, member)) for member in files), most)


def _tarred(archive: tarfile.TarFile, member: tarfile.TarInfo) -> File:
    why = "" if member.isreg() and not member.issparse() else "it is no plain file; ask for the file itself"
    return File("", int(member.mtime), why, lambda: archive.extractfile(member) or io.BytesIO())


def _as_tree(name: str, found: Iterable[tuple[str, File]], most: int | None) -> Folder:
    """The folders that the names of an archive's files speak of; a name that leads out of it is taken for none."""
    root: _Entries = {}
    for count, (path, file) in enumerate(found, 1):
        if most is not None and count > most:
            raise UnreadableArchiveError(f"holds more than {most} files")
        _put(root, path, file)
    return _virtual(name, root)


def _put(root: _Entries, path: str, file: File) -> None:
    parts = PurePosixPath(path.replace("\\", "/")).parts
    leads_out = not parts or parts[0].startswith("/") or ".." in parts or ":" in parts[0]
    if leads_out or len(parts) > DEEPEST or len(path) > LONGEST_PATH:
        why = "its name leads out of the archive" if leads_out else "its name is too long"
        root.setdefault(path[:LONGEST_PATH].replace("/", "\\"), File(path[:LONGEST_PATH], 0, why))
        return
    here = root
    for part in parts[:-1]:
        inner = here.setdefault(part, {})
        if isinstance(inner, File):  # a file and a folder of one name
            inner = here.setdefault(f"{part}/", {})
        assert not isinstance(inner, File)
        here = inner
    before = here.get(parts[-1])
    if before is None or (isinstance(before, File) and before.modified <= file.modified):
        here[parts[-1]] = File(parts[-1], file.modified, file.why_unread, file.opened)


def _virtual(name: str, entries: _Entries) -> Folder:
    def listed() -> Iterator[File | Folder]:
        for key, entry in entries.items():
            yield entry if isinstance(entry, File) else _virtual(key.rstrip("/"), entry)

    return Folder(name, None, listed)

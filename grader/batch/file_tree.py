"""What was handed in as a tree of named bytes, a folder or an archive; nothing is unpacked, no link is followed.

Files and folders of a class can be sent to another process, which opens them there. Whatever is raised while a class is
listed belongs to one entry: it is raised again when somebody looks into that entry.
"""

from __future__ import annotations

import calendar
import gzip
import io
import os
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, TypeAlias

from grader.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")
UNREAD_ARCHIVES = (".7z", ".rar", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".xz", ".bz2", ".gz")
LARGEST_ARCHIVE = 64 << 20  # bytes of one archive inside a hand-in, packed, and of all that is unpacked of it
LARGEST_CLASS_TAR = (
    1 << 30
)  # bytes of a whole class in one .tar.gz, unpacked: it cannot be read in any order but its own
MOST_UNPACKED = 128 << 20  # bytes that one submission's archives hold and unpack to, all of them together
MOST_ENTRIES, DEEPEST, LONGEST_PATH = 5000, 20, 500
PIECE = 1 << 20  # bytes that are unpacked at a time
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
        with self.opened() as stream, _of_chosen_bytes("is damaged"):
            return stream.read(limit + 1)


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
        return [entry for entry in self.all_entries() if not is_housekeeping(entry.name)]

    def all_entries(self, most: int | None = None) -> list[File | Folder]:
        """What it holds, by name.

        Args:
            most: how many entries are looked at; all of them, if left out.

        Raises:
            OSError: it cannot be listed.
        """
        return sorted(islice(self.listed(), most), key=attrgetter("name"))


_Entries: TypeAlias = "dict[str, File | Exception | _Entries]"


class Room:
    """How many more bytes may be unpacked of one submission."""

    def __init__(self, left: int = MOST_UNPACKED) -> None:
        self.left = left

    def take(self, size: int) -> None:
        """Use so many bytes of it.

        Raises:
            UnreadableArchiveError: there are not so many left.
        """
        if size > self.left:
            raise UnreadableArchiveError(
                f"and the archives beside it hold and unpack to more than {MOST_UNPACKED >> 20} MiB; ask for the "
                "answers alone"
            )
        self.left -= size


def is_housekeeping(name: str) -> bool:
    """A file or folder that nobody hands in: hidden ones, and what systems and tools leave behind."""
    return (name.startswith(".") and not name.startswith("..")) or name in HOUSEKEEPING


def open_tree(path: Path) -> Folder:
    """A folder on disk, or an archive there.

    Raises:
        UsageError: it is neither, or cannot be read.
    """
    if path.is_dir():
        return Folder(path.name or path.resolve().name, path, partial(_scan, path))
    try:
        if not path.name.lower().endswith(ARCHIVES):
            path.open("rb").close()
            raise UsageError(f"{path} is neither a folder nor one of {', '.join(ARCHIVES)}: name one that is.")
        if path.name.lower().endswith(".zip"):
            return _as_tree(path.name, _zip_entries(_class_zip(path), partial(_open_in_class_zip, path)), None)
        return _as_tree(path.name, _tar_entries(_class_tar(path), partial(_open_in_class_tar, path)), None)
    except UsageError:
        raise
    except Exception as error:  # whatever a module for archives makes of bytes that somebody chose
        if isinstance(error, OSError) and error.errno is not None:
            raise UsageError(f"{path} cannot be read ({error.strerror}): {NAME_IT}.") from error
        why = error if isinstance(error, UnreadableArchiveError) else f"is damaged ({type(error).__name__})"
        raise UsageError(f"{path} cannot be read, it {why}: download it again.") from error


def unpacked(file: File, room: Room | None = None) -> Folder:
    """An archive inside a hand-in as a folder, within limits.

    Args:
        room: what is left for all archives of the hand-in together.

    Raises:
        OSError: it cannot be read.
        UnreadableArchiveError: it is damaged, encrypted, or beyond the limits.
    """
    data = file.read(LARGEST_ARCHIVE)
    if len(data) > LARGEST_ARCHIVE:
        raise UnreadableArchiveError(f"is larger than {LARGEST_ARCHIVE >> 20} MiB")
    room = Room() if room is None else room
    room.take(len(data))
    if not file.name.lower().endswith(".zip"):
        return _of_tar(file.name, data, room)
    if data.count(ENTRY_MARK) > MOST_ENTRIES:  # before anything is made of each
        raise UnreadableArchiveError(f"holds more than {MOST_ENTRIES} files")
    with _of_chosen_bytes():
        archive = zipfile.ZipFile(io.BytesIO(data))
    return _of_zip(file.name, archive, room)


@contextmanager
def _of_chosen_bytes(says: str = "is damaged, or no archive") -> Iterator[None]:
    """Call a module for archives with bytes that somebody chose: whatever it raises but for a fault of the machine."""
    try:
        yield
    except (UnreadableArchiveError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise UnreadableArchiveError(f"{says} ({type(error).__name__})") from error


def single_file(path: Path) -> File:
    """A file on disk, which may be a link that its owner named.

    Raises:
        OSError: it is not there.
    """
    found = path.stat()
    return File(path.name, int(found.st_mtime), _why_unread(found.st_mode), partial(_open_named, path))


def _open_named(path: Path) -> IO[bytes]:
    return path.open("rb")


def _scan(path: Path) -> Iterator[File | Folder]:
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                found = _entry_on_disk(path / entry.name, entry)
            except Exception as error:  # of one entry, not of its folder
                found = unlistable(entry.name, error)
            yield found


def _entry_on_disk(place: Path, entry: os.DirEntry[str]) -> File | Folder:
    if entry.is_dir(follow_symlinks=False):
        return Folder(entry.name, place, partial(_scan, place))
    found = entry.stat(follow_symlinks=False)
    return File(entry.name, int(found.st_mtime), _why_unread(found.st_mode), partial(_open_on_disk, place))


def unlistable(name: str, error: Exception) -> Folder:
    """A folder in the place of something that could not be looked at: who looks into it is told why."""
    return Folder(name, None, partial(_raise, error))


def _raise(error: Exception) -> Iterable[File | Folder]:
    raise error


def _open_on_disk(path: Path) -> IO[bytes]:
    """Open a file of a submission, and nothing that has become a link since."""
    return os.fdopen(os.open(path, os.O_RDONLY | NO_FOLLOW), "rb")


def _why_unread(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "it is a link; ask for the file itself"
    return "" if stat.S_ISREG(mode) else "it is no file, but a pipe or a device; ask for the file itself"


def _of_zip(name: str, archive: zipfile.ZipFile, room: Room) -> Folder:
    size = sum(entry.file_size for entry in archive.infolist() if not entry.is_dir())
    if size > LARGEST_ARCHIVE:
        raise UnreadableArchiveError(f"unpacks to more than {LARGEST_ARCHIVE >> 20} MiB")
    room.take(size)  # a zip gives no more than it says
    return _as_tree(name, _zip_entries(archive, partial(_open_zipped, archive)), MOST_ENTRIES)


_Open: TypeAlias = Callable[[int], IO[bytes]]  # by number in the archive


def _zip_entries(archive: zipfile.ZipFile, opened: _Open) -> Iterator[tuple[str, Callable[[], File]]]:
    """The names of its files, and what makes each."""
    for number, entry in enumerate(archive.infolist()):
        if not entry.is_dir():
            yield entry.filename, partial(_zipped, entry, partial(opened, number))


def _open_zipped(archive: zipfile.ZipFile, number: int) -> IO[bytes]:
    with _of_chosen_bytes("is damaged"):
        return archive.open(archive.infolist()[number])


@lru_cache(1)
def _class_zip(path: Path) -> zipfile.ZipFile:
    with path.open("rb") as file:
        return zipfile.ZipFile(_Positioned(file))


def _open_in_class_zip(path: Path, number: int) -> IO[bytes]:
    return _open_zipped(_class_zip(path), number)


def _zipped(entry: zipfile.ZipInfo, opened: Callable[[], IO[bytes]]) -> File:
    why = ""
    if entry.flag_bits & ENCRYPTED:
        why = "it is encrypted; ask for it without a password"
    elif stat.S_ISLNK(entry.external_attr >> 16):
        why = "it is a link; ask for the file itself"
    elif entry.compress_type not in PACKED_PLAINLY:
        why = "it is packed in an unusual way; ask for a plain .zip"
    return File("", _seconds(entry.date_time), why, opened)


def _seconds(date_time: tuple[int, ...]) -> int:
    """A zip's own time, which has no time zone, as seconds; only such are ever compared."""
    try:
        return calendar.timegm((*date_time, 0, 0, 0))
    except (ValueError, OverflowError):
        return 0


def _of_tar(name: str, data: bytes, room: Room) -> Folder:
    if not name.lower().endswith(".tar"):
        pieces = bytearray()
        with _of_chosen_bytes(), gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            while piece := stream.read(PIECE):
                pieces += piece
                if len(pieces) > LARGEST_ARCHIVE:
                    raise UnreadableArchiveError(f"unpacks to more than {LARGEST_ARCHIVE >> 20} MiB")
                room.take(len(piece))
        data = bytes(pieces)
    with _of_chosen_bytes():
        archive = tarfile.TarFile(fileobj=io.BytesIO(data))
        if sum(1 for _ in islice(archive, MOST_ENTRIES + 1)) > MOST_ENTRIES:
            raise UnreadableArchiveError(f"holds more than {MOST_ENTRIES} files")
    return _as_tree(name, _tar_entries(archive, partial(_open_tarred, archive)), MOST_ENTRIES)


def _tar_entries(archive: tarfile.TarFile, opened: _Open) -> Iterator[tuple[str, Callable[[], File]]]:
    """The names of its files, and what makes each."""
    for number, member in enumerate(archive.getmembers()):
        if not member.isdir():
            yield member.name, partial(_tarred, member, partial(opened, number))


def _tarred(member: tarfile.TarInfo, opened: Callable[[], IO[bytes]]) -> File:
    why = "" if member.isreg() and not member.issparse() else "it is no plain file; ask for the file itself"
    return File("", int(member.mtime), why, opened)


def _open_tarred(archive: tarfile.TarFile, number: int) -> IO[bytes]:
    with _of_chosen_bytes("is damaged"):
        return archive.extractfile(archive.getmembers()[number]) or io.BytesIO()


@lru_cache(1)
def _class_tar(path: Path) -> tarfile.TarFile:
    """A class in one tar; one that is packed is unpacked into a file that has no name."""
    with path.open("rb") as packed, ExitStack() as stack:
        file: IO[bytes] = packed
        if not path.name.lower().endswith(".tar"):
            file, size = stack.enter_context(tempfile.TemporaryFile()), 0
            with gzip.GzipFile(fileobj=packed) as stream:
                while piece := stream.read(PIECE):
                    size += file.write(piece)
                    if size > LARGEST_CLASS_TAR:
                        raise UnreadableArchiveError(f"unpacks to more than {LARGEST_CLASS_TAR >> 20} MiB")
            file.flush()
        archive = tarfile.TarFile(fileobj=_Positioned(file))
    archive.getmembers()  # so that whoever is forked from this process need not look for them
    return archive


def _open_in_class_tar(path: Path, number: int) -> IO[bytes]:
    return _open_tarred(_class_tar(path), number)


class _Positioned(io.RawIOBase):
    """An open file that is read from a place of its own: processes forked from this one share the descriptor alone."""

    def __init__(self, file: IO[bytes]) -> None:
        self.descriptor, self.at, self.size = os.dup(file.fileno()), 0, os.fstat(file.fileno()).st_size

    def close(self) -> None:
        if not self.closed:
            os.close(self.descriptor)
        super().close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence])
        return self.at

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        if hasattr(os, "pread"):
            found = os.pread(self.descriptor, len(view), self.at)
        else:
            os.lseek(self.descriptor, self.at, os.SEEK_SET)
            found = os.read(self.descriptor, len(view))
        view[: len(found)] = found
        self.at += len(found)
        return len(found)


def _as_tree(name: str, found: Iterable[tuple[str, Callable[[], File]]], most: int | None) -> Folder:
    """The folders that the names of an archive's files speak of; a name that leads out of it is taken for none.

    Whatever is raised at a file is raised again by what lies at the top above it, where a class has its students.
    """
    root: _Entries = {}
    for count, (path, make) in enumerate(found, 1):
        if most is not None and count > most:
            raise UnreadableArchiveError(f"holds more than {most} files")
        try:
            _put(root, path, make())
        except Exception as error:
            root[path.partition("/")[0]] = error
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
        if isinstance(inner, Exception):
            return
        assert not isinstance(inner, File)
        here = inner
    before = here.get(parts[-1])
    if before is None or (isinstance(before, File) and before.modified <= file.modified):
        here[parts[-1]] = File(parts[-1], file.modified, file.why_unread, file.opened)


def _virtual(name: str, entries: _Entries) -> Folder:
    return Folder(name, None, partial(_listed, entries))


def _listed(entries: _Entries) -> Iterator[File | Folder]:
    for key, entry in entries.items():
        if isinstance(entry, File):
            yield entry
        elif isinstance(entry, Exception):
            yield unlistable(key, entry)
        else:
            yield _virtual(key.rstrip("/"), entry)

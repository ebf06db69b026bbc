"""Archives read as folders, within limits and never unpacked to disk, and the walk through a submission's files."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, TypeAlias

from grader.errors import UsageError

from .file_tree import (
    ARCHIVES,
    DEEPEST_WORK,
    UNREAD_ARCHIVES,
    File,
    Folder,
    UnreadableArchiveError,
    archive_errors,
    failing_folder,
    folder_on_disk,
    is_housekeeping,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LARGEST_ARCHIVE = 64 << 20  # bytes of one archive in a submission, packed, and of all that is unpacked from it
LARGEST_CLASS_TAR = 1 << 30  # bytes of the .tar.gz of a class, unpacked, since its files can only be read in sequence
MOST_UNPACKED = 128 << 20  # bytes that one submission's archives hold and unpack to, all of them together
MOST_ENTRIES, DEEPEST, LONGEST_PATH = 5000, 20, 500  # files of a submission, nested folders, characters of a path
MOST_OPEN = 16  # archives of sections of a class
PIECE = 1 << 20  # bytes that are unpacked at a time
ENTRY_MARK = b"PK\x01\x02"  # heads every entry of a zip's directory
ENCRYPTED = 1
IS_UTF8 = 0x800  # the flag of an entry whose path is in UTF-8
PACKED_PLAINLY = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may take gigabytes to unpack a few bytes
ASK_FOR_ANSWERS = "ask for the answers alone"
NAME_IT = "name the folder that holds one folder per student, or an archive"
_Entries: TypeAlias = "dict[str, File | Exception | _Entries]"  # by name; a nested dictionary is a folder


class UnpackingBudget:
    """Count how many more bytes may be unpacked from the archives of one submission.

    Args:
        remaining: the number of bytes at the beginning.
    """

    def __init__(self, remaining: int = MOST_UNPACKED) -> None:
        """Begin with `remaining` bytes."""
        self.remaining = remaining

    def spend(self, size: int) -> None:
        """Subtract `size` bytes from those that may still be unpacked.

        Raises:
            UnreadableArchiveError: fewer remain.
        """
        if size > self.remaining:
            raise UnreadableArchiveError(
                f"and the archives beside it hold and unpack to more than {MOST_UNPACKED >> 20} MiB; {ASK_FOR_ANSWERS}"
            )
        self.remaining -= size


def open_tree(path: Path) -> Folder:
    """Return a folder on disk, or an archive there as a folder.

    The last `MOST_OPEN` archives stay open for later calls.

    Raises:
        UsageError: there is neither a folder nor an archive at the path, or the archive cannot be read.
    """
    if path.is_dir():
        return folder_on_disk(path)
    try:
        if not path.name.lower().endswith(ARCHIVES):
            path.open("rb").close()
            raise UsageError(f"{path} is neither a folder nor one of {', '.join(ARCHIVES)}: name one that is.")
        key = path, _version(path)
        if path.name.lower().endswith(".zip"):
            return _build_tree(path.name, _zip_entries(_class_zip(*key), partial(_open_in_class_zip, *key)), None)
        return _build_tree(path.name, _tar_entries(_class_tar(*key), partial(_open_in_class_tar, *key)), None)
    except UsageError:
        raise
    except Exception as error:  # whatever a module for archives makes of bytes that somebody chose
        if isinstance(error, OSError) and error.errno is not None:
            raise UsageError(f"{path} cannot be read ({error.strerror}): {NAME_IT}.") from error
        why = error if isinstance(error, UnreadableArchiveError) else "is damaged"
        raise UsageError(f"{path} cannot be read, it {why}: download it again.") from error


def unpack(file: File, budget: UnpackingBudget | None = None) -> Folder:
    """Return an archive inside a submission as a folder, within the limits of this module.

    Args:
        file: the archive.
        budget: how much may still be unpacked from all archives of the submission together; it is reduced. By default
            the limit for a submission that has no other archive.

    Raises:
        OSError: the archive cannot be read.
        UnreadableArchiveError: the archive is damaged, encrypted, or beyond the limits.
    """
    data = file.read(LARGEST_ARCHIVE)
    if len(data) > LARGEST_ARCHIVE:
        raise UnreadableArchiveError(f"is larger than {LARGEST_ARCHIVE >> 20} MiB; {ASK_FOR_ANSWERS}")
    budget = UnpackingBudget() if budget is None else budget
    budget.spend(len(data))
    if not file.name.lower().endswith(".zip"):
        return _read_tar(file.name, data, budget)
    if data.count(ENTRY_MARK) > MOST_ENTRIES:  # before anything is made of each
        raise UnreadableArchiveError(f"holds more than {MOST_ENTRIES} files; {ASK_FOR_ANSWERS}")
    with archive_errors():
        archive = zipfile.ZipFile(io.BytesIO(data))
    return _read_zip(file.name, archive, budget)


def _read_zip(name: str, archive: zipfile.ZipFile, budget: UnpackingBudget) -> Folder:
    """Return the files of a zip as a folder called `name`.

    Raises:
        UnreadableArchiveError: the zip holds too many files, or unpacks to more than the limit or than `budget`, which
            is reduced.
    """
    size = sum(entry.file_size for entry in archive.infolist() if not entry.is_dir())
    if size > LARGEST_ARCHIVE:
        raise UnreadableArchiveError(f"unpacks to more than {LARGEST_ARCHIVE >> 20} MiB; {ASK_FOR_ANSWERS}")
    budget.spend(size)  # a zip gives no more than it says
    return _build_tree(name, _zip_entries(archive, partial(_open_zip_member, archive)), MOST_ENTRIES)


_Open: TypeAlias = Callable[[int], IO[bytes]]  # by number in the archive
_Entry: TypeAlias = tuple[str, Callable[[], File] | None]  # the path, and what makes the file; `None` for a folder


def _zip_entries(archive: zipfile.ZipFile, open_entry: _Open) -> Iterator[_Entry]:
    """Yield the path of each entry of a zip, with a function that makes its `File`, or `None` for a folder.

    They come in the order of the zip.

    Args:
        archive: the zip.
        open_entry: opens a file by its number in the archive.
    """
    for number, entry in enumerate(archive.infolist()):
        make = None if entry.is_dir() else partial(_zip_file, entry, partial(open_entry, number))
        yield _name_in_zip(entry), make


def _name_in_zip(entry: zipfile.ZipInfo) -> str:
    """Return the path of an entry of a zip, which macOS writes in UTF-8 without saying so.

    Without that mark, `zipfile` reads a path as cp437, as Windows writes it. Hardly any such path is UTF-8 by chance.
    """
    if entry.flag_bits & IS_UTF8:
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.filename


def _open_zip_member(archive: zipfile.ZipFile, number: int) -> IO[bytes]:
    """Open a file of a zip for reading; `number` is its place among the entries, from 0.

    Raises:
        UnreadableArchiveError: the zip is damaged there.
    """
    with archive_errors("is damaged"):
        return archive.open(archive.infolist()[number])


def _version(path: Path) -> tuple[int, ...]:
    """Return a key of the file at a path, its device, inode, size and times, which another file there does not share.

    A process may read the archives of several runs, and caches them by path and key.
    """
    facts = path.stat()
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


@lru_cache(MOST_OPEN)
def _class_zip(path: Path, version: tuple[int, ...]) -> zipfile.ZipFile:
    """Open the zip of a whole class; it is kept open for later calls with the same path and version."""
    with path.open("rb") as file:
        return zipfile.ZipFile(_OwnPositionReader(file))


def _open_in_class_zip(path: Path, version: tuple[int, ...], number: int) -> IO[bytes]:
    """Open a file in the zip of a class for reading.

    Args:
        path: the zip.
        version: the key that `_version` returned for it.
        number: the place of the file among the entries, from 0.
    """
    return _open_zip_member(_class_zip(path, version), number)


def _zip_file(entry: zipfile.ZipInfo, open_stream: Callable[[], IO[bytes]]) -> File:
    """Return the `File` of an entry of a zip, with an empty name.

    A link, an encrypted file or one packed by an unusual method has the reason why it is not read in `why_unread`.

    Args:
        entry: the entry.
        open_stream: opens its content for reading.
    """
    why = ""
    if entry.flag_bits & ENCRYPTED:
        why = "it is encrypted; ask for it without a password"
    elif stat.S_ISLNK(entry.external_attr >> 16):
        why = "it is a link; ask for the file itself"
    elif entry.compress_type not in PACKED_PLAINLY:
        why = "it is packed in an unusual way; ask for a plain .zip"
    return File("", why, open_stream)


def _read_tar(name: str, data: bytes, budget: UnpackingBudget) -> Folder:
    """Return the files of a tar, compressed by gzip or not, as a folder called `name`.

    Raises:
        UnreadableArchiveError: the tar is damaged, or beyond the limits or `budget`, which is reduced.
    """
    if not name.lower().endswith(".tar"):
        pieces = bytearray()
        with archive_errors(), gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            while piece := stream.read(PIECE):
                pieces += piece
                if len(pieces) > LARGEST_ARCHIVE:
                    raise UnreadableArchiveError(f"unpacks to more than {LARGEST_ARCHIVE >> 20} MiB; {ASK_FOR_ANSWERS}")
                budget.spend(len(piece))
        data = bytes(pieces)
    with archive_errors():
        archive = tarfile.TarFile(fileobj=io.BytesIO(data))
        if sum(1 for _ in islice(archive, MOST_ENTRIES + 1)) > MOST_ENTRIES:
            raise UnreadableArchiveError(f"holds more than {MOST_ENTRIES} files; {ASK_FOR_ANSWERS}")
    return _build_tree(name, _tar_entries(archive, partial(_open_tar_member, archive)), MOST_ENTRIES)


def _tar_entries(archive: tarfile.TarFile, open_entry: _Open) -> Iterator[_Entry]:
    """Yield the path of each entry of a tar, with a function that makes its `File`, or `None` for a folder.

    They come in the order of the tar.

    Args:
        archive: the tar.
        open_entry: opens a file by its number in the archive.
    """
    for number, member in enumerate(archive.getmembers()):
        yield member.name, None if member.isdir() else partial(_tar_file, member, partial(open_entry, number))


def _tar_file(member: tarfile.TarInfo, open_stream: Callable[[], IO[bytes]]) -> File:
    """Return the `File` of a member of a tar, with an empty name.

    A link, device or sparse file has the reason why it is not read in `why_unread`.

    Args:
        member: the member.
        open_stream: opens its content for reading.
    """
    why = "" if member.isreg() and not member.issparse() else "it is no plain file; ask for the file itself"
    return File("", why, open_stream)


def _open_tar_member(archive: tarfile.TarFile, number: int) -> IO[bytes]:
    """Open a file of a tar for reading; `number` is its place among the members, from 0.

    Raises:
        UnreadableArchiveError: the tar is damaged there.
    """
    with archive_errors("is damaged"):
        return archive.extractfile(archive.getmembers()[number]) or io.BytesIO()


@lru_cache(MOST_OPEN)
def _class_tar(path: Path, version: tuple[int, ...]) -> tarfile.TarFile:
    """Open the tar of a whole class; it is kept open for later calls with the same path and version.

    A compressed one is unpacked into a temporary file.

    Raises:
        UnreadableArchiveError: it unpacks to more than `LARGEST_CLASS_TAR` bytes.
    """
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
        archive = tarfile.TarFile(fileobj=_OwnPositionReader(file))
    archive.getmembers()  # so that whoever is forked from this process need not look for them
    return archive


def _open_in_class_tar(path: Path, version: tuple[int, ...], number: int) -> IO[bytes]:
    """Open a file in the tar of a class for reading.

    Args:
        path: the tar.
        version: the key that `_version` returned for it.
        number: the place of the file among the members, from 0.
    """
    return _open_tar_member(_class_tar(path, version), number)


class _OwnPositionReader(io.RawIOBase):
    """Read an open file from a position of its own, so that forked processes can share the descriptor."""

    def __init__(self, file: IO[bytes]) -> None:
        """Duplicate the descriptor of an open file, and begin at its start."""
        self.descriptor, self.at, self.size = os.dup(file.fileno()), 0, os.fstat(file.fileno()).st_size

    def close(self) -> None:
        """Close this reader's duplicate of the descriptor; the file it was made from stays open."""
        if not self.closed:
            os.close(self.descriptor)
        super().close()

    def readable(self) -> bool:
        """Return `True`: the file can be read."""
        return True

    def seekable(self) -> bool:
        """Return `True`: the position can be set."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position of the next read, and return it from the start; arguments as of `io.IOBase.seek`."""
        self.at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence])
        return self.at

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read from the position into the buffer; return the number of bytes, 0 at the end."""
        view = memoryview(buffer).cast("B")
        if hasattr(os, "pread"):
            data = os.pread(self.descriptor, len(view), self.at)
        else:
            os.lseek(self.descriptor, self.at, os.SEEK_SET)
            data = os.read(self.descriptor, len(view))
        view[: len(data)] = data
        self.at += len(data)
        return len(data)


def _build_tree(name: str, entries: Iterable[_Entry], max_files: int | None) -> Folder:
    """Return the folder tree that the paths of an archive's files and folders describe; a folder may be empty.

    A file whose path leads out of the archive becomes an entry at the top that is not read. An error that a file raises
    is raised when the top-level entry above it is listed, because in a class that entry is one student.

    Args:
        name: the name of the folder.
        entries: the path of each file and folder in the archive, with a function that makes the `File`, or `None` for
            a folder.
        max_files: how many files and folders the archive may hold; any number if `None`.

    Raises:
        UnreadableArchiveError: the archive holds more.
    """
    root: _Entries = {}
    for count, (path, make) in enumerate(entries, 1):
        if max_files is not None and count > max_files:
            raise UnreadableArchiveError(f"holds more than {max_files} files; {ASK_FOR_ANSWERS}")
        try:
            _add_entry(root, path, None if make is None else make())
        except Exception as error:
            root[path.partition("/")[0]] = error
    return _archive_folder(name, root)


def _add_entry(root: _Entries, path: str, file: File | None) -> None:
    """Add a file or an empty folder to the nested folders of `root`; it replaces an earlier file with the same path.

    A file whose path leads out of the archive, or is too long or too deep, is added at the top, marked as not to be
    read.

    Args:
        root: the entries of the archive by name, a folder as a nested dict; changed.
        path: the path in the archive, with slashes or backslashes.
        file: the file, whose name is ignored; `None` for a folder.
    """
    parts = PurePosixPath(path.replace("\\", "/")).parts
    leads_out = not parts or parts[0].startswith("/") or ".." in parts or ":" in parts[0]
    if leads_out or len(parts) > DEEPEST or len(path) > LONGEST_PATH:
        if file is None:
            return
        why = "its name leads out of the archive" if leads_out else "its name is too long"
        root.setdefault(path[:LONGEST_PATH].replace("/", "\\"), File(path[:LONGEST_PATH], why))
        return
    here = root
    for part in parts if file is None else parts[:-1]:
        inner = here.setdefault(part, {})
        if isinstance(inner, File):  # a file and a folder of one name
            inner = here.setdefault(f"{part}/", {})
        if isinstance(inner, Exception):
            return
        assert not isinstance(inner, File)
        here = inner
    # Of two of one path the last counts, as when it is unpacked.
    earlier = here.get(parts[-1])
    if file is not None and isinstance(earlier, File | None):
        here[parts[-1]] = replace(file, name=parts[-1], is_repeated=earlier is not None)


def _archive_folder(name: str, entries: _Entries) -> Folder:
    """Return a folder with these entries of an archive; its list of files and folders is made when it is listed.

    Args:
        name: the name of the folder.
        entries: by name a file, the entries of a folder in it, or an error, which is raised when the folder of that
            name is listed.
    """
    return Folder(name, None, partial(_list_archive_folder, entries))


def _list_archive_folder(entries: _Entries) -> Iterator[File | Folder]:
    """Yield the entries of a folder in an archive as files and folders, in the order of `entries`.

    For an error, that is a folder of the same name that raises the error when it is listed.

    Args:
        entries: by name a file, the entries of a folder in it, or an error.
    """
    for key, entry in entries.items():
        if isinstance(entry, File):
            yield entry
        elif isinstance(entry, Exception):
            yield failing_folder(key, entry)
        else:
            yield _archive_folder(key.rstrip("/"), entry)


MOST_ARCHIVES, MOST_NESTED = 20, 2  # archives of a submission, and how deep they may lie in one another
CLONE = ".git"
SYSTEM_FOLDERS = frozenset({CLONE, "__MACOSX"})  # that nobody writes into


@dataclass
class SubmissionWalk:
    """Walk through the files of a submission, within limits.

    Of a folder with a name that tools use, such as env, only what may be an answer is read.

    Args:
        may_answer: returns whether a file may be an answer, by the name of the folder that it lies in and its own.
        notes: which files were ignored, and why; complete after the walk.
        uploads: the files as they were handed in, with each archive as one file; complete after the walk.
        skipped: the folders with a name that tools use in which nothing may be an answer; complete after the walk.
    """

    may_answer: Callable[[str, str], bool] = lambda folder, name: False
    notes: list[str] = field(default_factory=list)
    uploads: list[File] = field(default_factory=list)
    skipped: list[Folder] = field(default_factory=list)
    _tool_entries: int = 0
    _budget: UnpackingBudget = field(default_factory=UnpackingBudget)
    _file_count: int = 0
    _archive_count: int = 0
    _is_full: bool = False

    def files(self, folders: tuple[Folder, ...]) -> Iterator[File]:
        """Yield the files below folders, and in the archives there, sorted by name, each with the names of its folders.

        Raises:
            OSError: a folder or a file on disk cannot be read.
        """
        for folder in folders:
            yield from self._files_below(folder, (), 0, is_clone=False)

    def _files_below(self, folder: Folder, above: tuple[str, ...], depth: int, *, is_clone: bool) -> Iterator[File]:
        """Yield the files below a folder, by the names of the entries, and in place of an archive the files in it.

        What systems and tools leave behind is left out, but for answers in a tool's folder; whatever else is left out
        is noted in `notes`. The files that do not come from an archive are added to `uploads`, archives among them.

        Args:
            folder: the folder.
            above: the names of the folders from the submission down to this one, which become the `folders` of each
                file.
            depth: in how many archives this folder is nested.
            is_clone: whether it lies in a clone of a git repository.
        """
        entries = folder.all_entries()
        is_clone = is_clone or any(entry.name == CLONE for entry in entries)
        for entry in entries:
            if self._is_full:
                return
            if is_housekeeping(entry.name):
                if isinstance(entry, Folder) and entry.name not in SYSTEM_FOLDERS and len(above) < DEEPEST:
                    yield from self._files_of_tool(entry, (*above, entry.name), depth, is_clone=is_clone)
                continue
            if isinstance(entry, Folder):
                if len(above) < DEEPEST:
                    yield from self._files_below(entry, (*above, entry.name), depth, is_clone=is_clone)
                else:
                    self._ignore(File(entry.name, folders=above), "it lies too deep")
                continue
            file = replace(entry, folders=above, is_in_clone=is_clone)
            self.notes += [f"{file.path} is in its archive more than once: the last one counts"] * file.is_repeated
            self._file_count += 1
            self.uploads += [file] if depth == 0 and self._file_count <= MOST_ENTRIES else []
            if self._file_count > MOST_ENTRIES:
                self._is_full = True
                self.notes.append(f"only the first {MOST_ENTRIES} files were looked at")
            elif file.is_archive:
                yield from self._files_in_archive(file, depth)
            else:
                yield file

    def _files_of_tool(self, folder: Folder, above: tuple[str, ...], depth: int, *, is_clone: bool) -> Iterator[File]:
        """Yield the files that may be answers in a folder whose name tools use, such as `env`, and what they import.

        They come from the folder and the folders in it, `DEEPEST_WORK` levels in all, the outer ones first. If there
        are none, the folder is added to `skipped`.

        Args:
            folder: the folder.
            above: the names of the folders from the submission down to this one.
            depth: in how many archives this folder is nested.
            is_clone: whether it lies in a clone of a git repository.
        """
        pending, is_answered = [(folder, above, DEEPEST_WORK)], False
        while pending:
            place, path, levels = pending.pop(0)
            entries = self._entries_of_tool(place)
            files = [entry for entry in entries if isinstance(entry, File) and not is_housekeeping(entry.name)]
            answers = [file for file in files if self.may_answer(place.name, file.name)]
            if path == above and not folder.name.startswith("."):  # there, editors keep notebooks of their own
                answers += [file for file in files if file.is_notebook]
            if answers:
                kept = [file for file in files if file in answers or file.name.endswith(".py")]
                yield from self._files_below(
                    replace(place, list_entries=partial(list, kept)), path, depth, is_clone=is_clone
                )
                is_answered = True
            if levels > 1:
                inner = [entry for entry in entries if isinstance(entry, Folder)]
                pending += [(entry, (*path, entry.name), levels - 1) for entry in inner]
        if not is_answered:
            self.skipped.append(replace(folder, name="/".join(above)))

    def _entries_of_tool(self, folder: Folder) -> list[File | Folder]:
        """Return the entries of a folder that a tool may have made.

        There are none if the folder cannot be listed, or if `MOST_ENTRIES` entries of such folders were read before.
        """
        if self._tool_entries >= MOST_ENTRIES:
            return []
        try:
            entries = folder.all_entries(MOST_ENTRIES)
        except Exception:  # which costs nobody the answers beside it
            return []
        self._tool_entries += len(entries)
        return entries

    def _files_in_archive(self, archive: File, depth: int) -> Iterator[File]:
        """Yield the files in an archive that is nested in `depth` others.

        If the archive is damaged or beyond the limits, nothing is yielded, and `notes` gets the reason.
        """
        self._archive_count += 1
        if depth >= MOST_NESTED:
            self._ignore(archive, "it is an archive in another in another; ask for one archive of the files")
            return
        if self._archive_count > MOST_ARCHIVES:
            self._ignore(archive, f"there are more than {MOST_ARCHIVES} archives; {ASK_FOR_ANSWERS}")
            return
        try:
            with path_added_to_errors(archive):
                folder = unpack(archive, self._budget)
        except UnreadableArchiveError as error:
            self._ignore(archive, f"it {error}" if ";" in str(error) else f"it {error}; ask for it again")
            return
        for file in self._files_below(folder, (*archive.folders, archive.name), depth + 1, is_clone=False):
            yield replace(file, upload=archive.upload)

    def _ignore(self, file: File, why: str) -> None:
        """Add to `notes` that a file was ignored, and why: a clause."""
        self.notes.append(f"{file.path} was ignored: {why}")


@contextmanager
def path_added_to_errors(file: File) -> Iterator[None]:
    """Add the file's path, as a note, to an exception that is raised in the block."""
    try:
        yield
    except Exception as error:
        with suppress(Exception):
            error.add_note(file.path)
        raise


def is_unread_archive(name: str) -> bool:
    """Return whether a file is, by its name, an archive of a kind that is not read."""
    return name.lower().endswith(UNREAD_ARCHIVES)

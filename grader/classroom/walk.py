"""Every file of a hand-in, in its folders and archives, as far as somebody may hand in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from .file_tree import DEEPEST, MOST_ENTRIES, UNREAD_ARCHIVES, File, Folder, Room, UnreadableArchiveError, unpacked
from .printable_names import displayable

MOST_ARCHIVES, MOST_NESTED = 20, 2
CLONE = ".git"


@dataclass(frozen=True)
class Found:
    """Hold a file of a hand-in and where it lies.

    Args:
        folders: the folders from the hand-in down to the file; an archive counts as a folder.
    """

    folders: tuple[str, ...]
    file: File

    @property
    def path(self) -> str:
        """Return the path of the file in a form that is safe to show."""
        return displayable("/".join((*self.folders, self.file.name)))


@dataclass
class Walk:
    """Walk through the files of a hand-in, within limits.

    Args:
        notes: what was not looked into, and why; complete after the walk.
    """

    notes: list[str] = field(default_factory=list)
    _room: Room = field(default_factory=Room)
    _files: int = 0
    _archives: int = 0
    _is_full: bool = False

    def files(self, folders: tuple[Folder, ...]) -> Iterator[Found]:
        """Yield the files of the folders, and of the archives in them, sorted by name.

        Raises:
            OSError: a folder or a file on disk cannot be read.
        """
        for folder in folders:
            yield from self._below(folder, (), 0, is_clone=False)

    def _below(self, folder: Folder, at: tuple[str, ...], archives: int, *, is_clone: bool) -> Iterator[Found]:
        """Yield the files below a folder.

        Args:
            at: the folders from the hand-in down to this one.
            archives: how many archives this folder is nested in.
            is_clone: whether it lies in a clone of a git repository, where the times of files mean nothing.
        """
        listed = list(folder.listed())
        is_clone = is_clone or any(entry.name == CLONE for entry in listed)
        for entry in replace(folder, listed=lambda: listed).entries():
            if self._is_full:
                return
            if isinstance(entry, Folder):
                if len(at) < DEEPEST:
                    yield from self._below(entry, (*at, entry.name), archives, is_clone=is_clone)
                else:
                    self._ignore(Found(at, File(entry.name)), "it lies too deep")
                continue
            found = Found(at, replace(entry, modified=0) if is_clone else entry)  # the time it was cloned says nothing
            self._files += 1
            if self._files > MOST_ENTRIES:
                self._is_full = True
                self.notes.append(f"only the first {MOST_ENTRIES} files were looked at")
            elif entry.is_archive:
                yield from self._inside(found, archives)
            else:
                yield found

    def _inside(self, found: Found, archives: int) -> Iterator[Found]:
        """Yield the files in an archive, or note why it was ignored."""
        self._archives += 1
        if archives >= MOST_NESTED or self._archives > MOST_ARCHIVES:
            self._ignore(found, f"there are more than {MOST_ARCHIVES} archives, or one in another in another")
            return
        try:
            with naming(found):
                folder = unpacked(found.file, self._room)
        except UnreadableArchiveError as error:
            self._ignore(found, f"it {error}")
            return
        yield from self._below(folder, (*found.folders, found.file.name), archives + 1, is_clone=False)

    def _ignore(self, found: Found, why: str) -> None:
        """Note that a file was ignored."""
        self.notes.append(f"{found.path} was ignored: {why}")


@contextmanager
def naming(found: Found) -> Iterator[None]:
    """Add the file's path, as a note, to an exception that is raised in the block."""
    try:
        yield
    except Exception as error:
        with suppress(Exception):
            error.add_note(found.path)
        raise


def is_unread_archive(name: str) -> bool:
    """Return whether a file is, by its name, an archive of a kind that is not read."""
    return name.lower().endswith(UNREAD_ARCHIVES)

"""The folder of an export: a file for each student of a class, their index, and those of students who left.

The index says which student a file is about, because a name that cannot be that of a file is changed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from grader.classroom.class_file import GRADES_FILE
from grader.classroom.class_folder import REMOVED, refuse_folder_of_submissions
from grader.classroom.results_folder import is_record
from grader.errors import UsageError
from grader.files import write_atomically
from grader.safe_text import no_formula, plain

from .graded_work import Exported

INDEX = "index.csv"
HEADER = ["student", "file", "platform"]
ELSEWHERE = "name another folder with --out"


def write_export(exported: Exported, out: Path, platform: str) -> tuple[list[str], list[str]]:
    """Write every file of an export; for a class, `index.csv` as well, and move earlier files of others to `removed/`.

    A file that must not be there is moved as well. A file that cannot be written does not stop the others.

    Args:
        exported: the files.
        out: the folder, which is made if there is none.
        platform: the name of the platform.

    Returns:
        The names of the files that were moved, and a sentence on each file that could not be written.

    Raises:
        UsageError: the folder holds the export for another platform, results, or what students handed in, or nothing
            can be written to it.
    """
    problems: list[str] = []
    is_class = bool(exported.students) or not (exported.files or exported.absent)  # or one in which nobody has a file
    try:
        if (out / GRADES_FILE).exists() or (
            exported.students and any(path.is_file() and is_record(path) for path in out.glob("*.json"))
        ):
            raise UsageError(f"{out} holds the results of a class: {ELSEWHERE}.")
        if exported.students and not (out / INDEX).exists():
            refuse_folder_of_submissions(out)
        out.mkdir(parents=True, exist_ok=True)
        removed = _earlier_files(exported, out, platform) if is_class else []
        removed += [name for name in exported.absent if (out / name).is_file()]
        for name in removed:
            (out / REMOVED).mkdir(exist_ok=True)
            (out / name).replace(out / REMOVED / name)
        for name, content in exported.files.items():
            try:
                write_atomically(out / name, content)
            except OSError as error:
                problems.append(f"{out / name} cannot be written ({error.strerror}): {ELSEWHERE}.")
        if exported.students or (is_class and (out / INDEX).exists()):
            write_atomically(out / INDEX, _index(exported.students, platform).encode("utf-8-sig", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{out} cannot be written ({error.strerror}): {ELSEWHERE}.") from error
    if problems and len(problems) == len(exported.files):
        raise UsageError(problems[0])
    return removed, problems


def _index(students: Mapping[str, str], platform: str) -> str:
    """Return the table of students and files as CSV.

    Args:
        students: the student that each file is about, by its name.
        platform: the name of the platform.
    """
    text = io.StringIO(newline="")
    rows = [[no_formula(plain(student)), no_formula(plain(name)), platform] for name, student in students.items()]
    csv.writer(text).writerows([HEADER, *rows])
    return text.getvalue()


def _earlier_files(exported: Exported, out: Path, platform: str) -> list[str]:
    """Return the names of the files of an earlier export that this one does not write.

    They are those of its index that are still there, sorted; empty if there is no index.

    Raises:
        UsageError: the earlier export is for another platform.
    """
    try:
        text = (out / INDEX).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return []
    rows = list(csv.reader(io.StringIO(text, newline="")))
    platforms = {row[-1] for row in rows[1:] if row}
    if rows[:1] != [HEADER] or platforms - {platform}:
        named = ", ".join(sorted(platforms - {platform}))
        contents = f"the files for {named}" if rows[:1] == [HEADER] else f"an {INDEX} of something else"
        raise UsageError(f"{out} holds {contents}: {ELSEWHERE}.")
    listed = {row[1] for row in rows[1:]}
    return [name for name in _files(out) if no_formula(plain(name)) in listed and name not in exported.files]


def _files(folder: Path) -> Iterable[str]:
    """Return the names of the files in a folder, sorted."""
    with suppress(FileNotFoundError):
        return sorted(path.name for path in folder.iterdir() if path.is_file())
    return []

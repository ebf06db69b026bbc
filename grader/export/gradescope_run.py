"""Grades one submission as Gradescope's container does: by the course and the secret in the autograder."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from grader.batch.class_grading import grade_folder
from grader.course import Course, load_course
from grader.errors import UsageError
from grader.report.class_statistics import StudentResults
from grader.report.record_reader import read_record
from grader.results import LARGEST_SEED
from grader.sandbox.isolation import Isolation

from .gradescope_zip import COURSE_FOLDER, SECRET_FILE

STUDENT = "submission"


def open_source(source: Path) -> tuple[Course, bytes]:
    """The course and the secret of an unpacked autograder.

    Raises:
        UsageError: it is none.
    """
    if not (source / SECRET_FILE).is_file():
        raise UsageError(f"{source} is no autograder of handgrad: make one with: handgrad gradescope my-course.zip")
    return load_course(source / COURSE_FOLDER), (source / SECRET_FILE).read_bytes()


def graded_submission(course: Course, secret: bytes, submission: Path, isolation: Isolation) -> StudentResults:
    """The record of one submission: the same whenever and wherever it is graded.

    Args:
        submission: a folder, or a single file.

    Raises:
        UsageError: it cannot be read.
        InfrastructureError: it could not be graded.
    """
    with tempfile.TemporaryDirectory(prefix="handgrad-") as folder:
        handed_in, out = Path(folder, "class", STUDENT), Path(folder, "out")
        _copy(submission, handed_in)
        grade_folder(course, handed_in.parent, out, workers=1, isolation=isolation, seed=_seed(secret, handed_in))
        record = read_record(out / f"{STUDENT}.json")
    if not isinstance(record, StudentResults):
        raise UsageError(f"{submission} holds nothing that could be graded: {record.why}")
    return record


def _copy(submission: Path, handed_in: Path) -> None:
    """Copy a folder, or a single file into one; pipes, devices and the like are left behind, and links stay links."""
    if submission.is_file():
        handed_in.mkdir(parents=True)
        shutil.copyfile(submission, handed_in / submission.name)
        return
    try:
        shutil.copytree(submission, handed_in, symlinks=True, ignore=_special, copy_function=shutil.copyfile)
    except (OSError, shutil.Error) as error:
        raise UsageError(f"{submission} cannot be read: name the folder or the file that was handed in.") from error


def _special(folder: str, names: list[str]) -> list[str]:
    def is_special(name: str) -> bool:
        mode = os.lstat(os.path.join(folder, name)).st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))

    return [name for name in names if is_special(name)]


def _seed(secret: bytes, handed_in: Path) -> int:
    """A seed that nobody knows who has only the submission; another one for every submission."""
    digest = hashlib.sha256(secret)
    for path in sorted(path for path in handed_in.rglob("*") if path.is_file() and not path.is_symlink()):
        name = os.fsencode(path.relative_to(handed_in))
        digest.update(b"%d %d " % (len(name), path.stat().st_size) + name)
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:8], "big") % (LARGEST_SEED + 1)

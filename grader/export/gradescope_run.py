"""Grades one submission as Gradescope's container does: by the course and the secret in the autograder."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from grader.classroom.class_grading import Grading, grade_one
from grader.classroom.student_results import StudentResults, read_record
from grader.course.course import Course, load_course
from grader.errors import UsageError
from grader.results.records import LARGEST_SEED
from grader.sandbox.isolation import Isolation

from .gradescope_zip import COURSE_FOLDER, SECRET_FILE


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
        out = Path(folder, "record.json")
        grade_one(course, submission, out, Grading(1, isolation, _seed(secret, submission)), yes=True)
        record = read_record(out)
    if not isinstance(record, StudentResults):
        raise UsageError(f"{submission} holds nothing that could be graded: {record.why}")
    return record


def _seed(secret: bytes, submission: Path) -> int:
    """A seed that nobody knows who has only the submission; another one for every submission."""
    digest, folder = hashlib.sha256(secret), submission if submission.is_dir() else submission.parent
    inside = folder.rglob("*") if submission.is_dir() else [submission]
    for path in sorted(path for path in inside if path.is_file() and not path.is_symlink()):
        name = os.fsencode(path.relative_to(folder))
        digest.update(b"%d %d " % (len(name), path.stat().st_size) + name)
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:8], "big") % (LARGEST_SEED + 1)

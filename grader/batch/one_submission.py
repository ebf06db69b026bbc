"""One submission, graded into one record: in a container of somebody else's, and with nobody to ask."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from grader.atomic_files import write_atomically
from grader.course import Course
from grader.errors import InfrastructureError
from grader.judging.grading_pool import GradingPool
from grader.results import CourseResult, dumps, exit_code
from grader.safe_text import one_line, plain

from .class_grading import Grading, course_result, parts
from .exercise_names import ExerciseNames
from .hand_ins import one_hand_in
from .results_folder import course_digest, made_from
from .submissions import read_submission


def grade_one(course: Course, path: Path, out: Path, grading: Grading, *, yes: bool) -> int:
    """Grade what one student handed in, a folder, an archive or a file, into the record `out`.

    Args:
        yes: where there is nothing to grade, write a record with 0 points that says why.

    Returns:
        The exit code: 0 if all is right, 1 if not, or if there is nothing to grade, 3 if grading failed.

    Raises:
        UsageError: it is not there.
        InfrastructureError: the record cannot be written.
    """
    names = ExerciseNames(course, grading.exercises or course.exercises)
    submission = read_submission(names, one_hand_in(path))
    digest = course_digest(names, grading.isolation != "none")
    if submission.nothing:
        print(one_line(f"handgrad: nothing could be graded: {plain(submission.nothing)}."), file=sys.stderr)
        if yes:
            _write(out, course_result(names, submission, (), made_from(digest, submission), grading))
        return 1
    with GradingPool(course, grading.isolation, 1, grading.seed) as pool:
        pool.prepare(course.find(name) for name in submission.files)
        graded = next(found[1] for found in pool.grade([(None, list(parts(course, submission)))]) if found is not None)
        grading = replace(grading, seed=pool.grader.seed)
    result = course_result(names, submission, graded, made_from(digest, submission), grading)
    _write(out, result)
    return exit_code(result.exercises)


def _write(out: Path, result: CourseResult) -> None:
    try:
        write_atomically(out, dumps(result).encode())
    except OSError as error:
        raise InfrastructureError(f"{out} cannot be written ({error.strerror}): name another file.") from error

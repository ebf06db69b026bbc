"""One submission, graded into one record: in a container of somebody else's, and with nobody to ask."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from grader.course.course import Course
from grader.errors import InfrastructureError
from grader.files import write_atomically
from grader.judging.grading_pool import Graded, GradingPool, Read, ReadingPool
from grader.results.records import CourseResult, dumps, exit_code
from grader.safe_text import one_line, plain

from .class_grading import Grading, course_result
from .exercise_names import ExerciseNames
from .hand_in import HandIn
from .hand_ins import one_hand_in
from .results_folder import course_digest
from .submissions import SubmissionFacts, SubmissionReader


def grade_one(course: Course, path: Path, out: Path, grading: Grading, *, yes: bool) -> int:
    """Grade what one student handed in, a folder, an archive or a file, and write the record to `out`.

    Args:
        yes: where there is nothing to grade, write a record with 0 points that says why.

    Returns:
        The exit code: 0 if all is right, 1 if not, or if there is nothing to grade, 3 if grading failed.

    Raises:
        UsageError: it is not there.
        NoGradedRuns: learner code cannot be run here.
        InfrastructureError: the record cannot be written.
    """
    names = ExerciseNames(course, grading.exercises or course.exercises)
    hand_in, wanted = one_hand_in(path), tuple(exercise.id for exercise in names.wanted)
    reader = SubmissionReader(wanted, course_digest(names, grading.isolation != "none"))
    with GradingPool(course, grading.isolation, 1, grading.seed, reader) as pool:
        pool.probe()
        graded, facts = _read(course, hand_in, reader)
        if facts is not None and facts.nothing:
            print(one_line(f"handgrad: nothing could be graded: {plain(facts.nothing)}."), file=sys.stderr)
            if yes:
                _write(out, course_result(names, hand_in, graded, facts, grading))
            return 1
        if facts is not None:
            pool.prepare(course.find(name) for name in facts.exercises)
            graded = next(outcome for outcome in pool.grade([(hand_in, hand_in)]) if outcome is not None)
            grading = replace(grading, seed=pool.seed)
    result = course_result(names, hand_in, graded, facts, grading)
    _write(out, result)
    return exit_code(result.exercises)


def _read(course: Course, hand_in: HandIn, reader: Read) -> tuple[Graded, SubmissionFacts | None]:
    """Have `reader` read a submission in a new process, and judge nothing.

    Returns:
        An outcome without results, with the failure if it could not be read; and what was read, `None` if it could not.
    """
    with ReadingPool(course, 1, reader) as pool:
        read = next(outcome for outcome in pool.read([(hand_in, hand_in)]) if outcome is not None)
    return read, None if read.facts is None else SubmissionFacts.from_json(read.facts)


def _write(out: Path, result: CourseResult) -> None:
    """Write a record.

    Raises:
        InfrastructureError: it cannot be written.
    """
    try:
        write_atomically(out, dumps(result).encode())
    except OSError as error:
        raise InfrastructureError(f"{out} cannot be written ({error.strerror}): name another file.") from error

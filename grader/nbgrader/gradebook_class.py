"""The results of a class in nbgrader's gradebook, for `handgrad grade --gradebook`."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from grader.classroom.class_file import CLASS_FILE
from grader.classroom.class_folder import ClassFolder, listed
from grader.classroom.exercise_names import ExerciseNames
from grader.classroom.file_tree import displayable_name
from grader.classroom.platform_names import Submission
from grader.classroom.report_files import count_of
from grader.classroom.results_folder import result_file
from grader.classroom.submissions import SubmissionContent, SubmissionFacts, SubmissionReader
from grader.errors import InfrastructureError, UsageError
from grader.judging.grading_pool import ReadingPool
from grader.rendering.console import Spinner
from grader.results.records import ExerciseResult, exercise_from_json
from grader.safe_text import one_line, print_message

from .database import explain_errors, needs_nbgrader, refuse_in_memory, url_without_password

if TYPE_CHECKING:
    from .gradebook_student import GradebookWriter

NAMED = 5
OLD_POINTS = (
    "{unit} was released with other points than the course has now, and {url} keeps them: the new points are not"
    " entered. To enter them: handgrad nbgrader init {folder}, and there nbgrader generate_assignment {unit} --force"
    " and nbgrader autograde {unit}; then run this command again."
)


@contextmanager
def entering_in_gradebook(
    names: ExerciseNames,
    url: str | None,
    class_folder: ClassFolder,
    out: Path,
    adjusted: Collection[str] = (),
    assignment: str = "",
    known: Collection[str] = (),
) -> Iterator[set[str]]:
    """Enter the results of a class in the gradebook at the end of a `with` block that grades it.

    The gradebook is opened before the block as well, so that an error in its address costs no grading time.

    Args:
        names: the course, and which of its exercises are graded.
        url: any SQLAlchemy URL that nbgrader accepts; `None` to enter nothing.
        class_folder: the submissions of the class, and who is absent.
        out: the results folder that the block grades into.
        adjusted: the students to whom `adjustments.csv` gives points, which are named and not entered.
        assignment: the name of the assignment of `class.yaml` that is graded; empty if it is none.
        known: the names of all its assignments.

    Yields:
        A set, which has the ids of the units with other points in the gradebook than in the course after the block.

    Raises:
        UsageError: nbgrader is not installed, this is no gradebook that can be written, or another assignment of
            `class.yaml` is entered there for the same units.
        InfrastructureError: some students could not be entered; the others were.
    """
    old_points = set[str]()
    if url is None:
        yield old_points
        return
    with needs_nbgrader():
        from .gradebook_student import open_gradebook
    refuse_in_memory(url)
    with explain_errors(url, "written"), open_gradebook(names.course, url, assignment) as writer:
        others = writer.other_assignments
    _refuse_shared_units(names, url, others, assignment, known)
    yield old_points
    try:
        with explain_errors(url, "written"):
            old_points |= write_class(names, url, class_folder.submissions, out, class_folder.absent, assignment)
        if adjusted:
            says = f"Adjustments are not entered in {url_without_password(url)}: enter them in formgrader, for"
            print_message(f"{says} {one_line(listed(sorted(map(displayable_name, adjusted))))}.", sys.stderr)
    except KeyboardInterrupt:
        print("handgrad: stopped. What was entered is kept; the same command goes on.", file=sys.stderr)
        raise


def _refuse_shared_units(
    names: ExerciseNames, url: str, others: Mapping[str, str], assignment: str, known: Collection[str]
) -> None:
    """Refuse to enter results in a gradebook that has points of another assignment of `class.yaml` for the same unit.

    A gradebook has one score for each student and unit, so what is entered last would replace the other.

    Args:
        names: the course, and which of its exercises are graded.
        url: the URL of the gradebook.
        others: the assignment whose points the gradebook has, by the id of the unit.
        assignment: the name of the assignment that is graded; empty if it is none of `class.yaml`.
        known: the names of all its assignments.

    Raises:
        UsageError: the gradebook has points of another assignment; names both.
    """
    units = {exercise.unit for exercise in names.wanted}
    for other in sorted({others[unit] for unit in units & others.keys()}):
        shared = ", ".join(sorted(unit for unit in units if others.get(unit) == other))
        says = f"{url_without_password(url)} has the points of {other} for {shared}, and"
        if not assignment:
            advice = f", or grade the assignment: handgrad grade {other}" if other in known else ""
            raise UsageError(
                f"{says} these submissions, which are no assignment's, would replace them: name another "
                f"gradebook{advice or '.'}"
            )
        advice = "" if other in known else f"; or, if {assignment} was called {other}, call it so again in {CLASS_FILE}"
        raise UsageError(
            f"{says} {assignment} would replace them: name another gradebook for {assignment}, such as "
            f"sqlite:///{assignment}.db{advice}"
        )


def write_class(
    names: ExerciseNames,
    url: str,
    submissions: Sequence[Submission],
    out: Path,
    absent: Sequence[str] = (),
    assignment: str = "",
) -> set[str]:
    """Enter the records of a class in the gradebook; a student whose record is refused does not stop the others.

    Points of 0 that `--yes` gave are entered in each unit that anybody's results are entered in, or else in all units.
    So are those of a student who handed in nothing and has points from a person. A unit in which a person gave a
    student points is entered in any case: formgrader takes points only for what was submitted.

    Args:
        names: the course, and which of its exercises are graded.
        url: the URL of the gradebook.
        submissions: the submissions of the class.
        out: the results folder.
        absent: the students who handed in nothing.
        assignment: the name of the assignment of `class.yaml` whose results are entered; empty if they are of none.

    Returns:
        The ids of the units that keep other points in the gradebook than the course has, because they were released.

    Raises:
        InfrastructureError: some students could not be entered.
    """
    from .gradebook_student import open_gradebook

    failed = dict[str, str]()
    # A submission without a result has nothing to grade, or is not graded yet.
    everybody = [*submissions, *(Submission(name, ()) for name in absent)]
    graded = [submission for submission in everybody if result_file(out, submission.key).is_file()]
    reader = SubmissionReader(tuple(exercise.id for exercise in names.wanted), digest="", keeps_parts=True)
    with (
        open_gradebook(names.course, url, assignment) as writer,
        Spinner("entering") as say,
        ReadingPool(names.course, 1, reader) as pool,
    ):
        zeros = list[tuple[Submission, SubmissionContent, list[ExerciseResult], set[str]]]()
        unit_of = {exercise.id: exercise.unit for exercise in names.wanted}
        late = 0
        for number, read in enumerate(filter(None, pool.read(zip(graded, graded, strict=True))), 1):
            submission: Submission = read.key
            say(f"{number} of {len(graded)} in {url_without_password(url)}")
            if read.facts is None:
                failed[submission.student] = read.failure
                continue
            try:
                content = SubmissionFacts.from_json(read.facts).content
                record = json.loads(result_file(out, submission.key).read_bytes())
                results = [exercise_from_json(result) for result in record["exercises"]]
            except Exception as error:
                failed[submission.student] = _first_line(error)
                continue
            late += record.get("late", {}).get("points", 0) < 0
            adjusted = {change["exercise"] for change in record.get("adjustments", ())}
            by_person = {unit for exercise, unit in unit_of.items() if exercise in adjusted}
            if (
                record.get("seed", 0) is None and record.get("score") is not None
            ):  # 0 was entered, or points by a person
                zeros.append((submission, content, results, by_person))
                continue
            if submission.key in absent:
                continue
            units = {exercise.unit for exercise in names.wanted if exercise.id in content.files} | by_person
            if refusal := _enter_student(writer, submission, content, results, units, by_person):
                failed[submission.student] = refusal
        units = set(writer.units) or set(unit_of.values())
        for submission, content, results, by_person in zeros:
            entered = units | by_person
            if refusal := _enter_student(writer, submission, content, results, entered, entered):
                failed[submission.student] = refusal
    students = count_of(len(writer.students - failed.keys()), "student")
    said = f"{students} ({', '.join(writer.units) or 'nothing was handed in'})"
    print_message(f"Entered in {url_without_password(url)}: {said}.", sys.stderr)
    if late:
        says = f"Lateness is not entered in {url_without_password(url)}, where nbgrader's late penalty counts"
        print_message(f"{says}: here it costs {count_of(late, 'student')} points.", sys.stderr)
    for unit in sorted(writer.old_points):
        says = OLD_POINTS.format(unit=unit, url=url_without_password(url), folder=writer.settings.folder)
        print_message(one_line(says), sys.stderr)
    if writer.blank:
        print_message(f"Left as they were, where only blanks were handed in: {_name_list(writer.blank)}.", sys.stderr)
    if failed:
        name, why = next(iter(failed.items()))
        reason = f"{len(failed)} students could not be entered, {name} for one ({why}): put it right, and run it again."
        raise InfrastructureError(one_line(reason))
    return writer.old_points


def _enter_student(
    writer: GradebookWriter,
    submission: Submission,
    content: SubmissionContent,
    results: Sequence[ExerciseResult],
    units: Collection[str],
    zeros: Collection[str] = (),
) -> str:
    """Enter a student's record in the gradebook.

    Args:
        writer: the gradebook.
        submission: the student's submission.
        content: what was read of it.
        results: the results in the student's record.
        units: the units whose results are entered.
        zeros: the units, among these, that are entered although the submission has no file of them.

    Returns:
        The reason why the gradebook refused the record; empty if it did not.

    Raises:
        OperationalError: the database fails, for the other students as well.
    """
    from sqlalchemy.exc import OperationalError

    try:
        entered = [result for result in results if result.unit in units]
        writer.write_student(submission.student, submission.path, content, entered, zeros)
    except OperationalError:
        raise
    except Exception as error:  # what the gradebook refuses of one student, it may take of another
        writer.undo_last_student()
        if isinstance(error.__context__, OperationalError):  # such as a full disk
            raise error.__context__ from None
        return _first_line(error)
    return ""


def _first_line(error: Exception) -> str:
    """Return the first line of an error's message; the name of its type if the message is empty."""
    return (str(getattr(error, "orig", None) or error) or type(error).__name__).splitlines()[0]


def _name_list(blank: Sequence[tuple[str, str]]) -> str:
    """Return the first `NAMED` pairs of a student and a unit in words, and how many more there are."""
    more = f" and {len(blank) - NAMED} more" if len(blank) > NAMED else ""
    return one_line(", ".join(f"{student} {unit}" for student, unit in blank[:NAMED])) + more

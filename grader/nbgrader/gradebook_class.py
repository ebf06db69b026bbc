"""The results of a class in nbgrader's gradebook, for `handgrad grade --gradebook`."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from grader.classroom.class_file import GRADES, ClassPlan
from grader.classroom.class_folder import ClassFolder, first_few_names
from grader.classroom.exercise_names import ExerciseNames
from grader.classroom.platform_names import Submission
from grader.classroom.report_files import count_of
from grader.classroom.results_folder import result_file
from grader.classroom.student_results import BASIS_FILE, read_basis
from grader.classroom.submissions import SubmissionContent, SubmissionFacts, SubmissionReader
from grader.errors import InfrastructureError, UsageError
from grader.files import write_atomically
from grader.judging.grading_pool import ReadingPool
from grader.rendering.console import Spinner
from grader.results.records import ExerciseResult, exercise_from_json
from grader.safe_text import one_line, print_message

from .database import database_address, explain_errors, needs_nbgrader, refuse_in_memory, url_without_password

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
    plan: ClassPlan | None = None,
) -> Iterator[set[str]]:
    """Enter the results of a class in the gradebook at the end of a `with` block that grades it.

    The gradebook is opened before the block as well, so that an error in its address costs no grading time.

    Args:
        names: the course, and which of its exercises are graded.
        url: any SQLAlchemy URL that nbgrader accepts; `None` to enter nothing.
        class_folder: the submissions of the class, and who is absent.
        out: the results folder that the block grades into.
        adjusted: the students to whom `adjustments.csv` gives points, which are named and not entered.
        plan: the `class.yaml`; `None` if what is graded is none of its assignments.

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
    with explain_errors(url, "written"), open_gradebook(names.course, url) as writer:
        handed_in = {assignment.name for assignment in writer.gradebook.assignments if assignment.submissions}
    if plan is not None:
        _refuse_shared_units(plan, out, names, url, handed_in)
    yield old_points
    try:
        with explain_errors(url, "written"):
            if plan is not None:
                _remember_gradebook(out, url)
            old_points |= write_class(names, url, class_folder.submissions, out, class_folder.absent)
        if adjusted:
            says = f"Adjustments are not entered in {url_without_password(url)}: enter them in formgrader, for"
            print_message(f"{says} {one_line(first_few_names(sorted(adjusted)))}.", sys.stderr)
    except KeyboardInterrupt:
        print("handgrad: stopped. What was entered is kept; the same command goes on.", file=sys.stderr)
        raise


def _refuse_shared_units(
    plan: ClassPlan, out: Path, names: ExerciseNames, url: str, handed_in: Collection[str]
) -> None:
    """Refuse to enter an assignment of `class.yaml` in a gradebook that has points of another one for the same unit.

    A gradebook has one score for each student and unit, so the assignment that is entered last would replace the other.

    Args:
        plan: the `class.yaml`.
        out: the results folder of the assignment.
        names: the course, and which of its exercises the assignment has.
        url: the URL of the gradebook.
        handed_in: the units that the gradebook has submissions of.

    Raises:
        UsageError: the gradebook has points of another assignment; names both.
    """
    units = {exercise.unit for exercise in names.wanted} & set(handed_in)
    for name, assignment in plan.content.assignments.items():
        shared = sorted(units & set(assignment.units) if assignment.units else units)
        if name != out.name and shared and database_address(url) in read_basis(GRADES / name).gradebooks:
            raise UsageError(
                f"{url_without_password(url)} has the points of {name} for {', '.join(shared)}, and {out.name} would "
                f"replace them: name another gradebook for {out.name}, such as sqlite:///{out.name}.db"
            )


def _remember_gradebook(out: Path, url: str) -> None:
    """Note in the results folder of an assignment that its results are entered in a gradebook.

    Args:
        out: the results folder.
        url: the URL of the gradebook.
    """
    basis = read_basis(out)
    if (address := database_address(url)) not in basis.gradebooks:
        noted = basis.model_copy(update={"gradebooks": (*basis.gradebooks, address)})
        write_atomically(out / BASIS_FILE, noted.model_dump_json().encode())


def write_class(
    names: ExerciseNames, url: str, submissions: Sequence[Submission], out: Path, absent: Sequence[str] = ()
) -> set[str]:
    """Enter the records of a class in the gradebook; a student whose record is refused does not stop the others.

    Points of 0 that `--yes` gave are entered in each unit that anybody's results are entered in, or else in all units.

    Args:
        names: the course, and which of its exercises are graded.
        url: the URL of the gradebook.
        submissions: the submissions of the class.
        out: the results folder.
        absent: the students who handed in nothing.

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
        open_gradebook(names.course, url) as writer,
        Spinner("entering") as say,
        ReadingPool(names.course, 1, reader) as pool,
    ):
        zeros = list[tuple[Submission, SubmissionContent, list[ExerciseResult]]]()
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
            if "seed" in record and record["seed"] is None and not record.get("reason"):  # 0 was entered
                zeros.append((submission, content, results))
                continue
            if submission.key in absent:
                continue
            units = {exercise.unit for exercise in names.wanted if exercise.id in content.files}
            if refusal := _enter_student(writer, submission, content, results, units):
                failed[submission.student] = refusal
        units = set(writer.units) or {exercise.unit for exercise in names.wanted}
        for submission, content, results in zeros:
            if refusal := _enter_student(writer, submission, content, results, units, units):
                failed[submission.student] = refusal
    entered = count_of(len(writer.students - failed.keys()), "student")
    said = f"{entered} ({', '.join(writer.units) or 'nothing was handed in'})"
    print_message(f"Entered in {url_without_password(url)}: {said}.", sys.stderr)
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

"""The changes of the graded points of an assignment: `adjustments.csv`, which people write, and late work."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from grader.errors import UsageError
from grader.results.points import exact, shown
from grader.results.records import Adjustment, Lateness, StudentResults
from grader.safe_text import one_line

from .class_file import (
    GRADES,
    ClassAssignment,
    ClassPlan,
    LatePolicy,
    assignment_of,
    nearest,
    read_class_file,
    refuse_other_spelling,
)
from .class_folder import ClassFolder, first_few_names
from .file_tree import displayable_name
from .platform_names import NO_FOLDER, composed_name, in_zone_of_machine
from .roster import Naming, Roster, csv_rows, read_csv_text, read_roster, refuse_repeated_headings
from .student_results import read_basis
from .submissions import EMPTY

ADJUSTMENTS_FILE = "adjustments.csv"
COLUMNS = ("assignment", "student", "exercise", "points", "reason")
NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE | re.ASCII
)  # not 1_0, which Python reads as 10
COMMA = re.compile(r"-?\d+,\d+")  # as Excel writes a number in most of Europe
DAY = timedelta(days=1)
LONG_BEFORE = timedelta(days=183)  # the due date: no assignment is open for so long
MICROSECOND = timedelta(microseconds=1)


class AdjustmentRow(NamedTuple):
    """Hold a line of `adjustments.csv`.

    Args:
        line: its number.
        assignment: the name of the assignment.
        student: the student's name in the results.
        exercise: the id of the exercise; empty for the total.
        points: the points of the exercise, in place of the graded ones; or what is added to the total.
        reason: the reason.
    """

    line: int
    assignment: str
    student: str
    exercise: str
    points: float
    reason: str


@dataclass(frozen=True)
class ScoreChanges:
    """Hold what changes the graded points of the students of one assignment; nothing, by default.

    Args:
        adjustments: the lines of `adjustments.csv`, by student's key.
        due: when each student had to hand in, by key.
        handed_in: when each student handed in, by key, where it is known.
        late: what late work loses.
        remarks: sentences on how `adjustments.csv` was read.
        basis: a hash of what decides what late work loses; empty for a run without an assignment.
    """

    adjustments: Mapping[str, Sequence[AdjustmentRow]] = field(default_factory=dict)
    due: Mapping[str, datetime] = field(default_factory=dict)
    handed_in: Mapping[str, datetime] = field(default_factory=dict)
    late: LatePolicy = field(default_factory=LatePolicy)
    remarks: tuple[str, ...] = ()
    basis: str = ""

    def apply(self, key: str, results: StudentResults) -> StudentResults:
        """Return a student's results with the changes of points that are held here for the student, and no others.

        Nobody is late who has no due date or no time of handing in, who handed in nothing, or who has no score.

        Args:
            key: the student's key.
            results: the results, as graded or as stored.
        """
        rows = self.adjustments.get(key, ())
        scores = {exercise.id: exercise.score or 0.0 for exercise in results.exercises}
        adjustments = tuple(
            Adjustment(row.exercise, float(exact(row.points) - exact(scores.get(row.exercise, 0.0))), row.reason)
            for row in rows
        )
        adjusted = replace(results, adjustments=adjustments, late=None)
        due, handed_in = self.due.get(key), self.handed_in.get(key)
        why = results.reason or "".join(results.notes[:1])  # the first note is the reason where 0 was entered
        if results.seed is None and (why == EMPTY or NO_FOLDER in why):
            return adjusted  # who handed in nothing is not late
        if due is None or handed_in is None or adjusted.raw_score is None:
            return adjusted
        return replace(adjusted, late=lateness(self.late, due, handed_in, adjusted.raw_score))

    @property
    def undated(self) -> tuple[str, ...]:
        """Return the keys of the students with a due date whose submissions can be read and have no known time."""
        return tuple(sorted(self.due.keys() - self.handed_in.keys()))


NO_CHANGES = ScoreChanges()


def lateness(policy: LatePolicy, due: datetime, handed_in: datetime, raw_score: float) -> Lateness | None:
    """Return what a submission loses by lateness; `None` if it was in time.

    Days end at the same time of the clock in the zone of this machine, also where its clocks change.

    Args:
        policy: the rule.
        due: when the submission was due, with a zone.
        handed_in: when the submission was handed in, with a zone.
        raw_score: the points before lateness.
    """
    in_time_until = _days_later(due, policy.grace.days) + policy.grace % DAY
    if handed_in <= in_time_until:
        return None
    late_by = _clock(handed_in) - _clock(in_time_until)  # not what has passed, which an hour of summer time changes
    days = max(math.ceil(Fraction(late_by // MICROSECOND, DAY // MICROSECOND)), 1)
    counted = max(days - policy.free_days, 0)
    share = min(exact(policy.per_day) * counted, exact(policy.at_most))
    reason = f"{_days(days)} late"
    if policy.free_days:
        reason += f", {min(days, policy.free_days)} of them free"
    if counted and policy.per_day:
        reason += f": {shown(100 * policy.per_day)} % a day"
        reason += f", {shown(100 * policy.at_most)} % at most" if policy.at_most < 1 else ""
    late = Lateness(due.isoformat(), handed_in.isoformat(), days, 0.0, reason, float(share))
    return late.of_score(raw_score)


def _clock(moment: datetime) -> datetime:
    """Return what the clocks in the zone of this machine show at a moment, as a time without a zone."""
    return moment.astimezone().replace(tzinfo=None)


def _days_later(moment: datetime, days: int) -> datetime:
    """Return the same time of the clock in the zone of this machine, some days after a moment."""
    return in_zone_of_machine(_clock(moment) + timedelta(days=days)) if days else moment


def _days(count: int) -> str:
    """Return a number of days with its noun: "1 day" or "3 days"."""
    return f"{count} day{'' if count == 1 else 's'}"


def score_changes(
    plan: ClassPlan,
    name: str,
    class_folder: ClassFolder,
    exercises: Mapping[str, float],
    roster: Roster | None = None,
) -> ScoreChanges:
    """Return what changes the graded points of an assignment.

    Args:
        plan: the `class.yaml`, with `adjustments.csv` beside it.
        name: the name of the assignment; empty for a run without one, in which nothing changes points, though
            `adjustments.csv` is checked.
        class_folder: the submissions of the class, whose keys or names the files use.
        exercises: the points of the exercises that are graded, by id.
        roster: the roster of the class; `None` if it has none.

    Raises:
        UsageError: a file names a student, an exercise or an assignment that does not exist, or gives an exercise more
            than its points; names the line.
    """
    rows, remarks = read_adjustments(plan.path.with_name(ADJUSTMENTS_FILE), plan.content.assignments)
    if not name:
        return ScoreChanges()
    assignment = plan.content.assignments[name]
    submissions = {submission.key: submission for submission in class_folder.submissions}
    students = {*submissions, *class_folder.absent}
    handed_in = {key: submission.handed_in for key, submission in submissions.items() if submission.handed_in}

    def why_nobody(student: str) -> str:
        """Return why nobody has this name; empty if somebody has."""
        return "" if student in students else _unknown_student(student, class_folder)

    adjustments, twins = _adjustments_of(name, rows, exercises, why_nobody)
    remarks += twins
    # Of what cannot be graded nobody needs to know whether it was late.
    dated = handed_in.keys() | {key for key, each in submissions.items() if not each.conflict and not each.nothing}
    due = {key: moment for key, moment in _due_dates(plan, name, students, class_folder).items() if key in dated}
    early = sorted(key for key in due.keys() & handed_in.keys() if due[key] - handed_in[key] > LONG_BEFORE)
    if early:
        remarks.append(
            f"Handed in more than half a year before it was due: {first_few_names([*map(displayable_name, early)])}: "
            "correct the time if that is a mistake."
        )
    basis, before = late_basis(assignment, roster), read_basis(GRADES / name)
    if before.zone not in ("", time_zone()) and before.late != basis:
        remarks.append(
            f"The time zone of this machine is {time_zone()} now, and was {before.zone} in the last run: times without "
            "a zone mean others than then."
        )
    return ScoreChanges(adjustments, due, handed_in, assignment.late, tuple(remarks), basis)


def _adjustments_of(
    name: str, rows: Iterable[AdjustmentRow], exercises: Mapping[str, float], why_nobody: Callable[[str], str]
) -> tuple[dict[str, list[AdjustmentRow]], list[str]]:
    """Return the lines of `adjustments.csv` for an assignment, by student, and remarks on lines that are there twice.

    Args:
        name: the name of the assignment.
        rows: all lines of the file.
        exercises: the points of the exercises that are graded, by id.
        why_nobody: takes a name; returns why it is no student's, as a clause, or an empty text if a student has it.

    Raises:
        UsageError: a line names a student or an exercise that does not exist, gives an exercise more than its points,
            or sets a student's exercise that an earlier line sets; names the line.
    """
    adjustments, remarks = dict[str, list[AdjustmentRow]](), list[str]()
    for row in (row for row in rows if row.assignment == name):
        where = f"{ADJUSTMENTS_FILE}, line {row.line}"
        if why := why_nobody(row.student):
            raise UsageError(f"{where}: {why}")
        if row.exercise and row.exercise not in exercises:
            raise UsageError(f"{where}: {name} has no exercise {row.exercise!r}: {nearest(row.exercise, exercises)}")
        if row.exercise and row.points > exercises[row.exercise]:
            points = f"{shown(exercises[row.exercise])} point{'' if exercises[row.exercise] == 1 else 's'}"
            says = f"{where}: {row.exercise} has {points}, and not {shown(row.points)}"
            raise UsageError(f"{says}: leave out the exercise to add to the total.")
        same = [other for other in adjustments.get(row.student, ()) if other.exercise == row.exercise != ""]
        if same:
            raise UsageError(f"{where}: line {same[0].line} sets {row.exercise} of {row.student} too: remove one.")
        if twin := next((other for other in adjustments.get(row.student, ()) if other[1:] == row[1:]), None):
            remarks.append(
                f"{where}: it says the same as line {twin.line}, and both count: remove one if one was meant."
            )
        adjustments.setdefault(row.student, []).append(row)
    return adjustments, remarks


def late_basis(assignment: ClassAssignment, roster: Roster | None) -> str:
    """Return a hash of what decides what late work loses in an assignment: dates, the rule, and times of the roster."""
    due = None if assignment.due is None else assignment.due.timestamp()
    extensions = sorted((student, moment.timestamp()) for student, moment in assignment.extensions.items())
    students = roster.students if roster and (due or extensions) else ()
    times = sorted((student.key, student.handed_in.timestamp()) for student in students if student.handed_in)
    everything = due, assignment.late.model_dump_json(), extensions, times
    return hashlib.sha256(repr(everything).encode()).hexdigest()


def outdated_lateness(results: Path) -> str:
    """Return the names of what may have changed, since results were made, how many points late work loses.

    For instance "class.yaml or roster.csv"; the time zone of this machine is named too if it is another one. Empty if
    nothing has changed, the results are of no assignment, or they do not tell what they were made with.

    Args:
        results: the results folder, or a record in it.

    Raises:
        UsageError: `class.yaml` or the roster cannot be read, or is wrong.
    """
    name = assignment_of(results)
    if not name:
        return ""
    plan = read_class_file(Path.cwd())
    path, basis = plan.content.roster, read_basis(results.parent if results.is_file() else results)
    roster = None if path is None else class_roster(plan, path, name)
    if basis.late in ("", late_basis(plan.content.assignments[name], roster)):
        return ""
    names = [plan.path.name, *([] if path is None else [str(path)])]
    if basis.zone not in ("", time_zone()):
        names.append(f"the time zone of this machine (now {time_zone()}, then {basis.zone})")
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def time_zone() -> str:
    """Return the names of the time zone of this machine, in winter and summer: "CET/CEST"."""
    return "/".join(dict.fromkeys(time.tzname))


def class_roster(
    plan: ClassPlan, path: Path, name: str, out: Path | None = None, exercises: Collection[str] = ()
) -> Roster:
    """Return the roster of a class, whose students are named by the column that earlier results are named by.

    These are the results of this assignment or, if it has none, those of the first assignment that has some.

    Args:
        plan: the `class.yaml`.
        path: the CSV list of the class.
        name: the name of the assignment; empty for a run without one.
        out: the results folder of a run without an assignment.
        exercises: the ids of all exercises, whose points may be columns of the list.

    Raises:
        UsageError: the roster cannot be read, or does not identify the students of earlier results.
    """
    assignments = plan.content.assignments
    folders = (
        [GRADES / each for each in sorted(assignments, key=lambda each: each != name)] if name else [out or GRADES]
    )
    naming = next((Naming(column, folder) for folder in folders if (column := read_basis(folder).named_by)), None)
    penalised = [each for each, assignment in assignments.items() if assignment.late.per_day]
    roster = read_roster(path, {}, name, penalised, naming, assignments, exercises)
    keys = {student.key for student in roster.students}
    for alias, key in plan.content.aliases.items():
        if composed_name(alias) in keys - {composed_name(key)}:
            raise UsageError(
                f"{plan.line('aliases', alias)}: {alias!r} is a student on the roster, whose key goes before an alias: "
                "remove this line, or write another name."
            )
        if composed_name(key) not in keys:
            raise UsageError(
                f"{plan.line('aliases', alias)}: nobody on the roster is called {key!r}: {nearest(key, keys)}"
            )
    return Roster(roster.students, plan.content.aliases, roster.remarks, roster.named_by)


def _unknown_student(name: str, class_folder: ClassFolder) -> str:
    """Return a clause on a name that is no student's in the results, and that proposes one.

    The proposal is the key of the student who is also called so, or else the most similar name.
    """
    called = [submission.key for submission in class_folder.submissions if name in submission.known_as]
    keys = {*(submission.key for submission in class_folder.submissions), *class_folder.absent}
    advice = (
        f"write the name in the results, {displayable_name(called[0])}." if len(called) == 1 else nearest(name, keys)
    )
    return f"nobody here is called {name!r}: {advice}"


def _due_dates(plan: ClassPlan, name: str, students: Collection[str], class_folder: ClassFolder) -> dict[str, datetime]:
    """Return by the student's key when each student has to hand in an assignment; without a due date, only extensions.

    Args:
        plan: the `class.yaml`.
        name: the name of the assignment.
        students: the keys of the students.
        class_folder: the submissions of the class, for the message.

    Raises:
        UsageError: an extension is of nobody in the class, or ends before the due date.
    """
    assignment = plan.content.assignments[name]
    for student in assignment.extensions:
        if composed_name(student) not in students:
            where = plan.line("assignments", name, "extensions", student)
            raise UsageError(f"{where}: {_unknown_student(student, class_folder)}")
        if assignment.due is not None and assignment.extensions[student] < assignment.due:
            where = plan.line("assignments", name, "extensions", student)
            raise UsageError(f"{where}: the extension of {student} ends before the due date: correct it.")
    due = {} if assignment.due is None else dict.fromkeys(students, assignment.due)
    return {**due, **{composed_name(student): moment for student, moment in assignment.extensions.items()}}


def read_adjustments(path: Path, assignments: Collection[str]) -> tuple[list[AdjustmentRow], list[str]]:
    """Return the lines of an `adjustments.csv`, none if there is no such file, and remarks on how it was read.

    The lines come in the order of the file, without those whose cells are all empty.

    Args:
        path: the file.
        assignments: the names of the assignments.

    Raises:
        UsageError: the file cannot be read, or a line is wrong; names the line.
    """
    if not path.exists():
        refuse_other_spelling(path, "adjustment.csv")
        return [], []
    text, remarks = read_csv_text(path, "correct it, or move it away")
    (_, first), *rows = list(csv_rows(Path(path.name), text)) or [(1, [])]
    head = [cell.strip().casefold() for cell in first]
    if missing := [column for column in COLUMNS if column not in head]:
        says = f"{path.name}, line 1: there is no column {missing[0]}"
        raise UsageError(f"{says}: its columns are {', '.join(COLUMNS)}.")
    refuse_repeated_headings(path.name, 1, first, head, COLUMNS)
    for line, row in rows:
        if any(map(str.strip, row[len(head) :])):
            says = f"{path.name}, line {line}: it has more cells than line 1 has columns"
            raise UsageError(f'{says}: write a text with a comma in quotes ("2,5"), and points as 2.5.')
    cells = ((line, dict(zip(head, map(str.strip, row), strict=False))) for line, row in rows if any(row))
    return [_adjustment(path.name, line, row, assignments) for line, row in cells], remarks


def outdated_students(results: Path) -> Callable[[StudentResults], bool]:
    """Return a function that tells whether a student's record lacks changes that `adjustments.csv` has now.

    Args:
        results: the results folder, or a record in it; if it is of no assignment, no record lacks any.

    Raises:
        UsageError: `class.yaml` or `adjustments.csv` cannot be read, or is wrong; names the line.
    """
    name = assignment_of(results)
    if not name:
        return lambda record: False
    plan = read_class_file(Path.cwd())
    rows, _ = read_adjustments(plan.path.with_name(ADJUSTMENTS_FILE), plan.content.assignments)
    adjustments = dict[str, list[AdjustmentRow]]()
    for row in (row for row in rows if row.assignment == name):
        adjustments.setdefault(displayable_name(row.student), []).append(row)
    changes = ScoreChanges(adjustments)
    return lambda record: changes.apply(record.student, record).adjustments != record.adjustments


def wrong_adjustment(results: Path, students: Collection[str], exercises: Mapping[str, float]) -> str:
    """Return a sentence on the first line of `adjustments.csv` that is wrong for an assignment; empty if none is.

    Args:
        results: the results folder; if it is of no assignment, no line is meant for it.
        students: the names of the students in the results.
        exercises: the points of the exercises in the results, by id.

    Raises:
        UsageError: the `class.yaml` of the current folder cannot be read, or is wrong.
    """

    def why_nobody(student: str) -> str:
        """Return why nobody in the results has this name; empty if somebody has."""
        if displayable_name(student) in students:
            return ""
        return f"nobody in {results} is called {student!r}: {nearest(student, students)}"

    if name := assignment_of(results):
        try:
            plan = read_class_file(Path.cwd())
            rows, _ = read_adjustments(plan.path.with_name(ADJUSTMENTS_FILE), plan.content.assignments)
            _adjustments_of(name, rows, exercises, why_nobody)
        except UsageError as error:
            return str(error)
    return ""


def _adjustment(name: str, line: int, cells: Mapping[str, str], assignments: Collection[str]) -> AdjustmentRow:
    """Return a line of `adjustments.csv`.

    Args:
        name: the name of the file, for messages.
        line: the number of the line.
        cells: the cells of the line, by column.
        assignments: the names of the assignments.

    Raises:
        UsageError: the line names no assignment or student, or no points, or gives no reason.
    """
    where = f"{name}, line {line}"
    assignment, student, exercise, points, reason = (cells.get(column, "") for column in COLUMNS)
    if assignment not in assignments:
        known = nearest(assignment, assignments) if assignments else "name it in class.yaml."
        raise UsageError(f"{where}: there is no assignment {assignment!r}: {known}")
    number = float(points) if NUMBER.fullmatch(points) else math.nan
    if not math.isfinite(number):
        how = f"write {points.replace(',', '.')}" if COMMA.fullmatch(points) else "correct it"
        raise UsageError(f"{where}: {points!r} is no number of points: {how}.")
    if exercise and number < 0:
        says = f"{where}: {exercise} cannot have {points} points"
        raise UsageError(f"{says}: write 0 or more, or leave out the exercise to take points off the total.")
    if not reason:
        raise UsageError(f"{where}: it gives no reason: add one.")
    return AdjustmentRow(line, assignment, student, exercise, number, one_line(reason))

"""Reads nbgrader's scores and comments back as results."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.classroom.graded_exercise import Key
from grader.classroom.student_results import Note, StudentResults
from grader.errors import UsageError
from grader.results.codes import CODES
from grader.results.records import AnswerResult, ExerciseResult, Status

from .database import connect_read_only, url_without_password

WHOLE = "return"
UNCHANGED = "No response."
STUDENTS_AT_ONCE = 500
LABEL = re.compile(r"^[-*`\s]*([\w.]+(?:, [\w.]+)*)[*`]*:\s+")
CODE_MARKS = re.compile(r"(`+)(.*[^`])\1", re.DOTALL)
CODE = re.compile(r"\[([a-z]+(?:-[a-z]+)*)\]")


@dataclass(frozen=True)
class AnswerComment:
    """What a comment says of an answer; the code is `None` where it gives none."""

    message: str
    code: str | None = None


@dataclass(frozen=True)
class _Cell:
    """A graded cell: one answer."""

    exercise: Key
    answer: str
    points: float


@dataclass(frozen=True)
class _Notebook:
    """A notebook of an assignment that was handed in.

    Args:
        prefix: what tells its exercises apart from those of the assignment's other notebooks.
        solutions: the names of its solution cells, by their ids.
    """

    assignment: str
    prefix: str
    solutions: dict[str, str] = field(default_factory=dict)

    def exercise(self, name: str) -> Key:
        return self.assignment, self.prefix + name

    def cell(self, name: str, points: float) -> _Cell:
        """`lin_grad-w-g` is the answer w.g of the solution cell lin_grad; any other cell is an exercise of its own."""
        found = [solution for solution in self.solutions.values() if name.startswith(f"{solution}-")]
        if not found:
            return _Cell(self.exercise(name), WHOLE, points)
        solution = max(found, key=len)
        return _Cell(self.exercise(solution), name[len(solution) + 1 :].replace("-", "."), points)


@dataclass(frozen=True)
class _CountedCells:
    """The cells that count.

    Args:
        cells: the answers of each exercise by the ids of their cells; only cells that somebody's work was graded in.
        solutions: the exercise of each solution cell.
    """

    course: str
    cells: Mapping[str, _Cell]
    solutions: Mapping[str, Key]
    notes: tuple[Note, ...]


@dataclass
class _StudentRecord:
    """One student's: score by cell (`None`: not graded yet), comment by exercise, late penalty by assignment."""

    scores: dict[str, float | None] = field(default_factory=dict)
    comments: dict[Key, str] = field(default_factory=dict)
    penalties: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


def read_gradebook(url: str) -> Iterator[StudentResults | Note]:
    """Every student of nbgrader's gradebook, by id. An assignment is a unit; what was not handed in is to do.

    Args:
        url: any SQLAlchemy URL that nbgrader accepts.

    Raises:
        UsageError: nbgrader is not installed, or there is no gradebook with grades in it.
    """
    with connect_read_only(url) as db:
        from nbgrader.api import Student
        from sqlalchemy import select

        counted = _counted_cells(db)
        if not counted.cells:
            raise UsageError(f"{url_without_password(url)} holds no grades yet: grade with nbgrader autograde first.")
        yield from counted.notes
        students = sorted(db.scalars(select(Student.id)))
        for start in range(0, len(students), STUDENTS_AT_ONCE):
            work = _student_records(db, counted, students[start : start + STUDENTS_AT_ONCE])
            yield from (_student_results(counted, name, work[name]) for name in work)


def read_comment(comment: str, answers: Collection[str]) -> dict[str, AnswerComment]:
    """What a comment says of each answer: `w.g: message [code]`, for one or several, with hints after it.

    What stands before the first such line is said of all answers that have no line of their own.
    """
    parts: dict[str, list[str]] = {}
    names = list(answers)
    for line in comment.splitlines():
        label = LABEL.match(line)
        if label and set(label[1].split(", ")) <= set(answers):
            names, line = label[1].split(", "), line[label.end() :]
            parts.update({name: [] for name in names})
        for name in names:
            parts.setdefault(name, []).append(line)
    return {name: _finding("\n".join(lines)) for name, lines in parts.items()}


def _finding(text: str) -> AnswerComment:
    """The message ends where the code stands, on the first line if it is there; other brackets belong to it."""
    for part in (text.partition("\n")[0], text):
        found = [match for match in CODE.finditer(part) if match[1] in CODES]
        if found:
            return AnswerComment(_unmarked(part[: found[-1].start()]), found[-1][1])
    return AnswerComment(_unmarked(text), "todo" if text.strip() == UNCHANGED else None)


def _unmarked(text: str) -> str:
    """The text that Markdown shows as it is because it is marked as code."""
    marked = CODE_MARKS.fullmatch(text.strip())
    return (marked[2] if marked else text).strip()


def _counted_cells(db: Any) -> _CountedCells:
    from nbgrader.api import Assignment, Grade, GradeCell, SubmittedAssignment, TaskCell
    from sqlalchemy import or_, select

    notebooks = _notebooks(db)
    graded = or_(Grade.auto_score.is_not(None), Grade.manual_score.is_not(None))
    in_use = set(db.scalars(select(Grade.cell_id).where(graded).distinct()))
    cells: dict[str, _Cell] = {}
    waiting: set[str] = set()
    for kind in (GradeCell, TaskCell):
        for cell, notebook, name, points in db.execute(select(kind.id, kind.notebook_id, kind.name, kind.max_score)):
            if notebook in notebooks and points > 0:
                place = notebooks[notebook].cell(name, points)
                if cell in in_use:
                    cells[cell] = place
                else:
                    waiting.add(" ".join(place.exercise))
    handed_in = select(SubmittedAssignment.id).where(SubmittedAssignment.assignment_id == Assignment.id)
    unused = db.scalars(select(Assignment.name).where(~handed_in.exists()))
    courses = sorted(set(db.scalars(select(Assignment.course_id).where(handed_in.exists()))))
    return _CountedCells(
        course=", ".join(courses),
        cells=cells,
        solutions={
            cell: notebook.exercise(name)
            for notebook in notebooks.values()
            for cell, name in notebook.solutions.items()
        },
        notes=(
            *_note("nobody has handed in {}: not counted", unused),
            *_note("nobody's {} is graded yet: not counted", waiting),
        ),
    )


def _note(says: str, names: Iterable[str]) -> tuple[Note, ...]:
    listed = ", ".join(sorted(names))
    return (Note(says.format(listed)),) if listed else ()


def _notebooks(db: Any) -> dict[str, _Notebook]:
    """The notebooks of the assignments that somebody handed in, by their ids."""
    from nbgrader.api import Assignment, Notebook, SolutionCell, SubmittedAssignment
    from sqlalchemy import select

    handed_in = select(SubmittedAssignment.assignment_id)
    query = select(Notebook.id, Notebook.name, Assignment.name).join(Assignment).where(Assignment.id.in_(handed_in))
    rows = list(db.execute(query))
    notebooks_in = Counter(assignment for _, _, assignment in rows)
    found = {notebook: _Notebook(unit, f"{name}/" if notebooks_in[unit] > 1 else "") for notebook, name, unit in rows}
    for cell, notebook, name in db.execute(select(SolutionCell.id, SolutionCell.notebook_id, SolutionCell.name)):
        if notebook in found:
            found[notebook].solutions[cell] = name
    return found


def _student_records(db: Any, counted: _CountedCells, students: Sequence[str]) -> dict[str, _StudentRecord]:
    """The records of some students in the gradebook."""
    from nbgrader.api import Assignment, Comment, Grade, SubmittedAssignment, SubmittedNotebook
    from sqlalchemy import select

    work = {name: _StudentRecord() for name in students}
    student, mine = SubmittedAssignment.student_id, SubmittedAssignment.student_id.in_(students)

    def of(table: Any, *columns: Any) -> Any:
        query = select(student, *columns).select_from(table)
        if table is not SubmittedNotebook:
            query = query.join(SubmittedNotebook, table.notebook_id == SubmittedNotebook.id)
        return query.join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id).where(mine)

    grades = of(Grade, Grade.cell_id, Grade.score, Grade.auto_score, Grade.manual_score)
    for name, cell, score, auto, manual in db.execute(grades):
        work[name].scores[cell] = None if auto is None and manual is None else score
    for name, cell, text in db.execute(of(Comment, Comment.cell_id, Comment.auto_comment)):
        if text and cell in counted.solutions:
            work[name].comments[counted.solutions[cell]] = text
    late = of(SubmittedNotebook, Assignment.name, SubmittedNotebook.late_submission_penalty)
    for name, assignment, penalty in db.execute(
        late.join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
    ):
        work[name].penalties[assignment] += penalty or 0.0
    return work


def _student_results(counted: _CountedCells, student: str, work: _StudentRecord) -> StudentResults:
    exercises: dict[Key, list[tuple[str, _Cell]]] = {}
    for cell, place in counted.cells.items():
        exercises.setdefault(place.exercise, []).append((cell, place))
    results = []
    for key, cells in exercises.items():
        findings = read_comment(work.comments.get(key, ""), [place.answer for _, place in cells])
        answers = [_answer(place, findings.get(place.answer, AnswerComment("")), cell, work) for cell, place in cells]
        results.append(ExerciseResult(key[1], key[0], tuple(answers)))
    return StudentResults(counted.course, student, tuple(results), penalties=work.penalties)


def _answer(place: _Cell, finding: AnswerComment, cell: str, work: _StudentRecord) -> AnswerResult:
    """One answer: to do where nothing was handed in or touched, an error (not the student's) where it is not graded."""
    if cell not in work.scores:
        return AnswerResult(place.answer, "todo", 0.0, place.points, "todo")
    score = work.scores[cell]
    if score is None:
        return AnswerResult(place.answer, "error", 0.0, place.points, "error", finding.message or "not graded yet")
    if score >= place.points:
        return AnswerResult(place.answer, "passed", score, place.points)
    status: Status = "todo" if finding.code == "todo" and not score else "failed"
    return AnswerResult(place.answer, status, score, place.points, finding.code, finding.message)

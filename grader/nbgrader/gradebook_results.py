"""Results read back from nbgrader's scores and comments, for a report on a class."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grader.classroom.class_folder import first_few_names
from grader.classroom.graded_exercise import Key
from grader.classroom.results_folder import NOTHING
from grader.classroom.student_results import Note
from grader.course.course_file import CourseFile
from grader.course.questions import NOT_READ
from grader.errors import UsageError
from grader.results.codes import CODES
from grader.results.records import AnswerResult, ExerciseResult, Status, StudentResults

from .database import connect_read_only, url_without_password

NO_NOTEBOOK = "Nothing was handed in: "  # begins the comment on a submission without a notebook
OTHER_FILES = "No notebook was handed in, but "  # begins the comment on one that holds only other files
UNREAD = "The file is no notebook that can be read ({}): hand it in again."
NO_CELLS = "The file holds no cells: hand in the notebook itself."
OTHER_ASSIGNMENT = "The notebook is of another assignment, {}: hand in the notebook of {}."
NOTHING_DEFINED = "No cell of the notebook defines anything of this assignment: hand in the notebook of {}."
ANOTHER_FILE_HELPS = tuple(text.split("{")[0] for text in (UNREAD, NO_CELLS, OTHER_ASSIGNMENT, NOTHING_DEFINED))
NOTE = "- Note: "  # begins a line of a comment that is about the submission, and no mistake
SCORE = "score("  # begins a cell that handgrad scores
OUTDATED = (
    "{unit}: graded with other points than the unit has now: {names}. To grade them again: nbgrader autograde {unit}"
    " for notebooks, handgrad grade SUBMISSIONS --unit {unit} --gradebook URL for other files"
)
OLD_POINTS = (
    "{unit}: graded with other points than the course has now: {names}. To enter them: for notebooks,"
    " handgrad nbgrader init FOLDER, nbgrader generate_assignment {unit} --force and nbgrader autograde {unit}; for"
    " other files, handgrad grade SUBMISSIONS --unit {unit} --gradebook URL"
)
ONLY_ANSWER = "return"
UNCHANGED = "No response."
STUDENTS_AT_ONCE = 500
LABEL = re.compile(r"^[-*`\s]*([\w.]+(?:, [\w.]+)*)[*`]*:\s+")
CODE_MARKS = re.compile(r"(`+)(.*[^`])\1", re.DOTALL)
CODE = re.compile(r"\[([a-z]+(?:-[a-z]+)*)\]")


@dataclass(frozen=True)
class AnswerComment:
    """The part of a comment that is about an answer: a message, and its code; `None` if it names none."""

    message: str
    code: str | None = None


@dataclass(frozen=True)
class _Cell:
    """The answer that a graded cell scores, with its exercise and the points possible."""

    exercise: Key
    answer: str
    points: float


@dataclass(frozen=True)
class _Notebook:
    """A notebook of an assignment that somebody handed in.

    Args:
        assignment: the assignment's name.
        prefix: what is put before the names of its exercises; empty if the assignment has no other notebook.
        solutions: the names of its solution cells, by their ids.
    """

    assignment: str
    prefix: str
    solutions: dict[str, str] = field(default_factory=dict)

    def exercise(self, name: str) -> Key:
        """Return the key, which is the unit and the id, of the exercise with this name in the notebook."""
        return self.assignment, self.prefix + name

    def cell(self, name: str, points: float) -> _Cell:
        """Return the answer that a cell scores.

        `lin_grad-w-g` is the answer `w.g` of the cell `lin_grad`; any other cell is the only answer of an exercise.

        Args:
            name: the id of the graded cell.
            points: the most points of the cell.
        """
        solutions = [solution for solution in self.solutions.values() if name.startswith(f"{solution}-")]
        if not solutions:
            return _Cell(self.exercise(name), ONLY_ANSWER, points)
        solution = max(solutions, key=len)
        return _Cell(self.exercise(solution), name[len(solution) + 1 :].replace("-", "."), points)


@dataclass(frozen=True)
class _GradedCells:
    """The cells of the gradebook that count, because somebody's work was graded in them.

    Args:
        course: the name of the course, or names.
        cells: the answers by the ids of their cells.
        solutions: the exercises by the ids of their solution cells.
        scored: the ids of the cells that handgrad scores.
        outdated: the exercises to which the course gives other points than the gradebook states in their titles.
        notes: sentences on assignments and cells that do not count.
    """

    course: str
    cells: Mapping[str, _Cell]
    solutions: Mapping[str, Key]
    scored: Collection[str]
    outdated: Collection[Key]
    notes: tuple[Note, ...]


@dataclass
class _StudentRecord:
    """A student's notes, scores and automatic scores by cell id, comments by exercise, penalties by assignment.

    The score of a cell that is not graded yet is `None`.
    """

    scores: dict[str, float | None] = field(default_factory=dict)
    automatic: dict[str, float | None] = field(default_factory=dict)
    comments: dict[Key, str] = field(default_factory=dict)
    penalties: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    notes: list[str] = field(default_factory=list)


def read_gradebook(url: str, config: CourseFile | None = None) -> Iterator[StudentResults | Note]:
    """Yield notes and the results of every student of nbgrader's gradebook, sorted by id.

    An assignment is a unit. Answers that were not handed in are still to do. The last notes name the students who were
    graded with other points than their unit has now.

    Args:
        url: any SQLAlchemy URL that nbgrader accepts.
        config: the content of the course's `course.yaml`, whose points are compared if the gradebook is of this course;
            `None` to compare only the points in the gradebook with each other.

    Raises:
        UsageError: nbgrader is not installed, or there is no gradebook with grades in it.
    """
    with connect_read_only(url) as db:
        from nbgrader.api import Student
        from sqlalchemy import select

        graded_cells = _graded_cells(db, config)
        if not graded_cells.cells:
            raise UsageError(f"{url_without_password(url)} holds no grades yet: grade with nbgrader autograde first.")
        yield from graded_cells.notes
        outdated = defaultdict[str, list[str]](list)
        columns = Student.id, Student.first_name, Student.last_name, Student.email, Student.lms_user_id
        other_names = {name: _other_names(*others) for name, *others in db.execute(select(*columns))}
        students = sorted(other_names)
        for start in range(0, len(students), STUDENTS_AT_ONCE):
            records = _student_records(db, graded_cells, students[start : start + STUDENTS_AT_ONCE])
            for name in records:
                for unit in _outdated_units(graded_cells, records[name]):
                    outdated[unit].append(name)
                yield replace(_student_results(graded_cells, name, records[name]), known_as=other_names[name])
        units = {unit for unit, _ in graded_cells.outdated}
        for unit, names in sorted(outdated.items()):
            template = OLD_POINTS if unit in units else OUTDATED
            yield Note(template.format(unit=unit, names=first_few_names(names)), are_outdated=True)


def _outdated_units(graded_cells: _GradedCells, record: _StudentRecord) -> set[str]:
    """Return the ids of the units in which a student has automatic points that a cell or an exercise has no more.

    A right answer, of which the comment says nothing, has all points of its cell, unless these were changed after it
    was graded. Manual points and extra credit do not count.

    Args:
        graded_cells: the cells of the class that hold scores.
        record: the student's scores and comments.
    """
    units = set[str]()
    for cell, score in record.automatic.items():
        place = graded_cells.cells[cell]
        if not score or cell not in graded_cells.scored:
            continue
        if place.exercise in graded_cells.outdated:
            units.add(place.exercise[0])
        elif score != place.points:
            answers = [other.answer for other in graded_cells.cells.values() if other.exercise == place.exercise]
            if place.answer not in read_comment(record.comments.get(place.exercise, ""), answers):
                units.add(place.exercise[0])
    return units


def read_comment(comment: str, answers: Collection[str]) -> dict[str, AnswerComment]:
    """Split nbgrader's comment on an exercise by the answers that its lines name, `w.g, b.g: message [code]`.

    Text before the first such line is about all answers that have no line of their own.

    Args:
        comment: the comment, in several lines.
        answers: the names of the exercise's answers.

    Returns:
        The message and the code for each answer, by its name; an answer that no text is about is missing.
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
    return {name: _answer_comment("\n".join(lines)) for name, lines in parts.items()}


def split_notes(comment: str) -> tuple[str, tuple[str, ...]]:
    """Return a comment without the lines that hold notes on the submission, and these notes as plain text."""
    lines = comment.splitlines()
    notes = [_without_code_marks(line.removeprefix(NOTE)) for line in lines if line.startswith(NOTE)]
    return "\n".join(line for line in lines if not line.startswith(NOTE)), tuple(notes)


def _answer_comment(text: str) -> AnswerComment:
    """Return the message and the code of a text.

    A code stands in brackets: "[wrong-sign]". The message is the text before the last code of the first line, or, if
    that line has none, before the last code of all lines; a text without a code is all message, with the code `None`
    (`todo` if it says that nothing was changed). Other text in brackets belongs to the message.
    """
    for part in (text.partition("\n")[0], text):
        codes = [match for match in CODE.finditer(part) if match[1] in CODES]
        if codes:
            return AnswerComment(_without_code_marks(part[: codes[-1].start()]), codes[-1][1])
    return AnswerComment(_without_code_marks(text), "todo" if text.strip() == UNCHANGED else None)


def _without_code_marks(text: str) -> str:
    """Return a text without the backticks that mark all of it as code."""
    marked = CODE_MARKS.fullmatch(text.strip())
    return (marked[2] if marked else text).strip()


def _graded_cells(db: Any, config: CourseFile | None) -> _GradedCells:
    """Return from nbgrader's database the cells with points that are graded, and notes on assignments that are not.

    Args:
        db: a SQLAlchemy connection to the database.
        config: the course whose points are compared; `None` to compare none.
    """
    from nbgrader.api import Assignment, Grade, GradeCell, SourceCell, SubmittedAssignment, TaskCell
    from sqlalchemy import or_, select

    notebooks = _notebooks(db)
    graded = or_(Grade.auto_score.is_not(None), Grade.manual_score.is_not(None))
    graded_ids = set(db.scalars(select(Grade.cell_id).where(graded).distinct()))
    others = select(SourceCell.notebook_id, SourceCell.name).where(~SourceCell.source.startswith(SCORE))
    unscored = {tuple(row) for row in db.execute(others)}  # handgrad adds later cells without a source
    cells: dict[str, _Cell] = {}
    scored: set[str] = set()
    waiting: set[str] = set()
    for kind in (GradeCell, TaskCell):
        for cell, notebook, name, points in db.execute(select(kind.id, kind.notebook_id, kind.name, kind.max_score)):
            if notebook in notebooks and points > 0:
                place = notebooks[notebook].cell(name, points)
                if kind is GradeCell and (notebook, name) not in unscored:
                    scored.add(cell)
                if cell in graded_ids:
                    cells[cell] = place
                else:
                    waiting.add(" ".join(place.exercise))
    handed_in = select(SubmittedAssignment.id).where(SubmittedAssignment.assignment_id == Assignment.id)
    unused = db.scalars(select(Assignment.name).where(~handed_in.exists()))
    courses = sorted(set(db.scalars(select(Assignment.course_id).where(handed_in.exists()))))
    return _GradedCells(
        course=", ".join(courses),
        cells=cells,
        solutions={
            cell: notebook.exercise(name)
            for notebook in notebooks.values()
            for cell, name in notebook.solutions.items()
        },
        scored=scored,
        outdated=_outdated_exercises(db, config) if config is not None and courses == [config.course] else (),
        notes=(
            *_note_on("nobody has handed in {}: not counted", unused),
            *_note_on("nobody's {} is graded yet: not counted", waiting),
        ),
    )


def _outdated_exercises(db: Any, config: CourseFile) -> set[Key]:
    """Return the exercises whose titles in the gradebook state other points than the course gives them.

    Args:
        db: a SQLAlchemy connection to nbgrader's database.
        config: the content of the course's `course.yaml`.
    """
    from nbgrader.api import Assignment, Notebook, SourceCell
    from sqlalchemy import select

    from .source_notebook import states_other_points, title_id

    points = {(unit.id, title_id(name)): (name, most) for unit in config.units for name, most in unit.points.items()}
    query = select(Assignment.name, SourceCell.name, SourceCell.source).select_from(SourceCell)
    query = query.join(Notebook, SourceCell.notebook_id == Notebook.id).join(Assignment)
    titles = ((unit, points.get((unit, cell)), source) for unit, cell, source in db.execute(query))
    return {
        (unit, known[0])
        for unit, known, source in titles
        if known is not None and states_other_points(source or "", known[1])
    }


def _note_on(template: str, names: Iterable[str]) -> tuple[Note, ...]:
    """Return a note, the template with the sorted names for its `{}`; no note without names."""
    listed = ", ".join(sorted(names))
    return (Note(template.format(listed)),) if listed else ()


def _notebooks(db: Any) -> dict[str, _Notebook]:
    """Return the notebooks of all assignments that somebody handed in, by nbgrader's ids of the notebooks.

    Args:
        db: a SQLAlchemy connection to nbgrader's database.
    """
    from nbgrader.api import Assignment, Notebook, SolutionCell, SubmittedAssignment
    from sqlalchemy import select

    handed_in = select(SubmittedAssignment.assignment_id)
    query = select(Notebook.id, Notebook.name, Assignment.name).join(Assignment).where(Assignment.id.in_(handed_in))
    rows = list(db.execute(query))
    notebooks_in = Counter(assignment for _, _, assignment in rows)
    notebooks = {
        notebook: _Notebook(unit, f"{name}/" if notebooks_in[unit] > 1 else "") for notebook, name, unit in rows
    }
    for cell, notebook, name in db.execute(select(SolutionCell.id, SolutionCell.notebook_id, SolutionCell.name)):
        if notebook in notebooks:
            notebooks[notebook].solutions[cell] = name
    return notebooks


def _student_records(db: Any, graded_cells: _GradedCells, students: Sequence[str]) -> dict[str, _StudentRecord]:
    """Return the scores, comments and penalties of some students, by the student's id.

    Args:
        db: a SQLAlchemy connection to nbgrader's database.
        graded_cells: the cells of the class that hold scores.
        students: the ids of the students.
    """
    from nbgrader.api import Assignment, Comment, Grade, SubmittedAssignment, SubmittedNotebook
    from sqlalchemy import select

    records = {name: _StudentRecord() for name in students}
    student, mine = SubmittedAssignment.student_id, SubmittedAssignment.student_id.in_(students)

    def of(table: Any, *columns: Any) -> Any:
        query = select(student, *columns).select_from(table)
        if table is not SubmittedNotebook:
            query = query.join(SubmittedNotebook, table.notebook_id == SubmittedNotebook.id)
        return query.join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id).where(mine)

    grades = of(Grade, Grade.cell_id, Grade.score, Grade.auto_score, Grade.manual_score)
    for name, cell, score, auto, manual in db.execute(grades):
        records[name].scores[cell] = None if auto is None and manual is None else score
        if cell in graded_cells.cells:
            records[name].automatic[cell] = auto
    for name, cell, text in db.execute(of(Comment, Comment.cell_id, Comment.auto_comment)):
        if text and cell in graded_cells.solutions:
            key = graded_cells.solutions[cell]
            records[name].comments[key], notes = split_notes(text)
            records[name].notes += [note for note in notes if note not in records[name].notes]
    late = of(SubmittedNotebook, Assignment.name, SubmittedNotebook.late_submission_penalty)
    for name, assignment, penalty in db.execute(
        late.join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
    ):
        records[name].penalties[assignment] += penalty or 0.0
    return records


def _other_names(first: str | None, last: str | None, *others: str | None) -> tuple[str, ...]:
    """Return the names of a student in nbgrader's table besides the id: the full name, and others that are there."""
    cells = (f"{first or ''} {last or ''}", *(other or "" for other in others))
    return tuple(name for cell in cells if (name := cell.strip()))


def _student_results(graded_cells: _GradedCells, student: str, record: _StudentRecord) -> StudentResults:
    """Return the results of one student, read from nbgrader's database.

    Args:
        graded_cells: the cells of the class that hold scores.
        student: the student's id.
        record: the student's scores, comments and penalties.
    """
    exercises: dict[Key, list[tuple[str, _Cell]]] = {}
    for cell, place in graded_cells.cells.items():
        exercises.setdefault(place.exercise, []).append((cell, place))
    results = []
    for key, cells in exercises.items():
        comments = read_comment(record.comments.get(key, ""), [place.answer for _, place in cells])
        answers = [
            _answer_result(place, comments.get(place.answer, AnswerComment("")), cell, record) for cell, place in cells
        ]
        results.append(ExerciseResult(key[1], key[0], tuple(answers)))
    missing = dict[str, str]()
    for unit in dict.fromkeys(result.unit for result in results):
        handed_in = any(
            answer.status != "todo" for result in results if result.unit == unit for answer in result.answers
        )
        cells_of_unit = (cell for cell, place in graded_cells.cells.items() if place.exercise[0] == unit)
        if not handed_in and all(record.scores.get(cell) is None for cell in cells_of_unit):
            texts = (text for key, text in record.comments.items() if key[0] == unit)
            without_notebook = (text for text in texts if text.startswith(OTHER_FILES))
            missing[unit] = next(map(_as_clause, without_notebook), NOTHING)
    reasons = [reason for reason in missing.values() if reason != NOTHING]
    return StudentResults(
        graded_cells.course,
        student,
        tuple(results),
        notes=tuple(record.notes),
        reason="" if len(missing) < len({result.unit for result in results}) else next(iter(reasons), NOTHING),
        penalties=record.penalties,
        missing=missing,
    )


def _as_clause(sentence: str) -> str:
    """Return a sentence without its capital letter and its period."""
    return sentence[:1].lower() + sentence[1:].strip().rstrip(".")


def _answer_result(place: _Cell, comment: AnswerComment, cell: str, record: _StudentRecord) -> AnswerResult:
    """Return the result of an answer, from the score and the comment in nbgrader's database.

    The answer passes with all its points, or more. The status is `todo` if nothing was handed in or changed, unless a
    person gave points; `error` if the answer is not graded yet, with the code `not-read` if the student can end that by
    another file; and else `failed`.

    Args:
        place: the answer that the cell scores, with its greatest points.
        comment: the part of nbgrader's comment that is about the answer.
        cell: the id of the cell.
        record: the student's record.
    """
    score, is_missing = record.scores.get(cell), comment.message.startswith((NO_NOTEBOOK, OTHER_FILES))
    if not score and (cell not in record.scores or is_missing):
        return AnswerResult(place.answer, "todo", 0.0, place.points, "todo")
    if score is None:
        code = NOT_READ if comment.message.startswith(ANOTHER_FILE_HELPS) else "error"
        why = comment.message or "not graded yet"
        return AnswerResult(place.answer, "error", 0.0, place.points, code, why)
    if score >= place.points:
        return AnswerResult(place.answer, "passed", score, place.points)
    status: Status = "todo" if comment.code == "todo" and not score else "failed"
    return AnswerResult(place.answer, status, score, place.points, comment.code, comment.message)

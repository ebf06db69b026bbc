"""A small class with every kind of student, and its way into a results folder and into nbgrader's gradebook."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from grader.classroom.class_report import ClassReport, Tally
from grader.classroom.student_results import Note, UnreadableResult
from grader.course.course import PACKAGE
from grader.course.course_file import read_course_file
from grader.results.records import AnswerResult, ExerciseResult, StudentResults, dumps

CONFIG = read_course_file(PACKAGE.parent / "course.yaml")
RATIO = "every entry is 1/7 of what it should be, and bs = 7 here"


def passed(name: str = "return", points: float = 1.0) -> AnswerResult:
    return AnswerResult(name, "passed", points, points)


def wrong(name: str, code: str | None, message: str = "", evidence: str = "", points: float = 1.0) -> AnswerResult:
    return AnswerResult(name, "failed", 0.0, points, code, message, evidence)


def todo(name: str = "return", points: float = 1.0) -> AnswerResult:
    return AnswerResult(name, "todo", 0.0, points, "todo", "not attempted yet")


def ungraded(name: str = "return", message: str = "the worker is gone", points: float = 1.0) -> AnswerResult:
    return AnswerResult(name, "error", 0.0, points, "error", message)


def result(student: str, relu: AnswerResult, *lin: AnswerResult, slope: AnswerResult | None = None) -> StudentResults:
    """One student's results: `slope`, `lin_grad` with its three answers, `relu_grad`."""
    return StudentResults(
        "handgrad",
        student,
        (
            ExerciseResult("slope", "01_slopes", (slope or passed(),)),
            ExerciseResult("lin_grad", "04_linear", lin),
            ExerciseResult("relu_grad", "05_activations", (relu,)),
        ),
        7,
        "box",
    )


def handed(result: StudentResults, penalties: Mapping[str, float] | None = None) -> StudentResults:
    """Return a record as a report reads it."""
    return replace(result, penalties=penalties or {})


LIN = ("b.g", "inp.g", "w.g")
RIGHT = tuple(passed(name) for name in LIN)
NOTHING = tuple(todo(name) for name in LIN)
MEAN = (wrong("b.g", "mean-for-sum", RATIO), passed("inp.g"), wrong("w.g", "mean-for-sum", RATIO))
CLASS = (
    result("ada", passed("inp.g"), *RIGHT),
    result("ben", wrong("inp.g", "missing-upstream", "out.g is missing"), *MEAN),
    result("cleo", todo("inp.g"), *NOTHING, slope=todo()),
    result("dan", todo("inp.g"), passed("b.g"), todo("inp.g"), passed("w.g")),
    result("eve", ungraded("inp.g"), *MEAN, slope=passed()),
    result(
        "finn", wrong("inp.g", "error", "NameError: name 'x' is not defined"),
        wrong("b.g", "error", "NameError: name 'y' is not defined"), passed("inp.g"), passed("w.g"),
        slope=wrong("return", "error", "ZeroDivisionError: division by zero"),
    ),
    result("gil", passed("inp.g"), wrong("b.g", None), *RIGHT[1:], slope=passed()),
)  # fmt: skip


def write_folder(folder: Path, results: Iterable[StudentResults]) -> Path:
    """As `handgrad grade --out` does."""
    folder.mkdir(parents=True, exist_ok=True)
    for record in results:
        (folder / f"{record.student}.json").write_text(dumps(record), encoding="utf-8")
    (folder / "grades.csv").write_text("student\r\n")
    (folder / ".state.json").write_text("{}")
    return folder


def write_gradebook(path: Path, results: Iterable[StudentResults]) -> str:
    """As autograding does: a unit is an assignment, an answer a grade cell, and each solution cell has a comment."""
    from nbgrader.api import Base
    from sqlalchemy import create_engine

    url = f"sqlite:///{path}"
    engine = create_engine(url)
    Base.metadata.create_all(engine)  # a gradebook that is there needs no alembic command
    engine.dispose()
    results = list(results)
    with opened(url) as book:
        for exercise in results[0].exercises:
            _add_exercise(book, exercise)
        for record in results:
            book.add_student(record.student)
            for exercise in record.exercises:
                if {answer.status for answer in exercise.answers} != {"todo"} or exercise.unit == "04_linear":
                    _hand_in(book, record.student, exercise)
    return url


@contextmanager
def opened(url: str) -> Iterator:
    """Open the gradebook, without SQLAlchemy's warnings of how nbgrader adds submissions."""
    from nbgrader.api import Gradebook

    with Gradebook(url, course_id="course") as book, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Object of type <Submitted")
        yield book
        book.db.commit()


def _add_exercise(book, exercise: ExerciseResult) -> None:
    unit = exercise.unit
    book.add_assignment(unit, course_id="course")
    book.add_notebook(unit, unit)
    book.add_solution_cell(exercise.id, unit, unit)
    for answer in exercise.answers:
        book.add_grade_cell(cell(exercise, answer), unit, unit, max_score=answer.max_score, cell_type="code")


def _hand_in(book, student: str, exercise: ExerciseResult) -> None:
    unit = exercise.unit
    book.add_submission(unit, student)
    for answer in exercise.answers:
        grade = book.find_grade(cell(exercise, answer), unit, unit, student)
        grade.auto_score = None if answer.status == "error" else answer.score
        grade.needs_manual_grade = answer.status == "error"
    book.find_comment(exercise.id, unit, unit, student).auto_comment = comment(exercise.answers)
    book.db.commit()


def cell(exercise: ExerciseResult, answer: AnswerResult) -> str:
    return f"{exercise.id}-{answer.name.replace('.', '-')}"


def comment(answers: Iterable[AnswerResult]) -> str | None:
    """Return what autograding says of each answer that is not right: message, code, first hint."""
    said = []
    for answer in answers:
        if answer.status == "error":
            said.append(f"{answer.name}: {answer.message}")
        elif answer.code:
            said.append(f"{answer.name}: {answer.message} [{answer.code}]\nhint: look at w[0,1] again")
    return "\n".join(said) or None


def counted(results: Iterable[StudentResults], *units: str) -> ClassReport:
    return from_source(map(handed, results), *units)


def from_source(entries: Iterable[StudentResults | UnreadableResult | Note], *units: str) -> ClassReport:
    tally = Tally(CONFIG, units)
    for entry in entries:
        if isinstance(entry, StudentResults):
            tally.add(entry)
        else:
            tally.add_uncounted(entry)
    return tally.report()

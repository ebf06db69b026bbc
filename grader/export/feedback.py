"""Each student's feedback page: points by unit, and every exercise with its mistakes, the evidence and the hints.

The page is a single column that needs no other file, so that it can be read on a phone or printed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from html import escape

from grader.course.course import Course, CourseExercise
from grader.errors import UsageError
from grader.rendering.page import page
from grader.rendering.render_html import ResultDisplay
from grader.results.points import total
from grader.results.records import BY_PERSON, AnswerResult, ExerciseResult, StudentResults

from .graded_work import BY_A_PERSON, NOT_GRADED, ExportOptions, changes, no_score, notes, number, text, why_not_graded

TODO = "not attempted yet"
ShowResult = Callable[[CourseExercise, ExerciseResult], str]


def feedback(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return a student's page as `feedback.html`.

    Args:
        course: the course that the record is of.
        record: the student's results.
        options: `picture` draws the mistakes of an exercise; nothing else is read.

    Raises:
        UsageError: the record has an exercise that the course does not have.
    """
    known = {exercise.id: exercise for exercise in course.exercises}
    if unknown := next((result.id for result in record.exercises if result.id not in known), None):
        raise UsageError(f"{text(unknown)} is no exercise of {course.root}: run this in the folder of the course.")
    header = [
        f"<h1>{escape(course.config.title)}</h1>",
        f"<p>Feedback for <bdi>{escape(text(record.student))}</bdi></p>",
    ]
    body = [
        *summary(course, record),
        *(f"<p>{escape(note)}</p>" for note in notes(record)),
    ]
    titles = {unit.id: unit.title for unit in course.config.units}
    result_html = partial(_result_html, record, options)
    untried: list[str] = []
    for unit, results in _by_unit(record).items():
        if any(map(_is_tried, results)):
            body += _unit_lines(titles[unit], [(known[result.id], result) for result in results], result_html)
        else:
            names = ", ".join(result.id for result in results)
            untried.append(f"<p>{escape(titles[unit])}: {escape(names)}</p>")
    if untried:
        body += ["<h2>Not attempted</h2>", *untried]
    return {"feedback.html": page(f"{course.config.title}: feedback", body, header=header, kind="narrow").encode()}


def _by_unit(record: StudentResults) -> dict[str, list[ExerciseResult]]:
    """Return the results of a record by the id of their unit, in teaching order."""
    units: dict[str, list[ExerciseResult]] = {}
    for result in record.exercises:
        units.setdefault(result.unit, []).append(result)
    return units


def summary(course: Course, record: StudentResults) -> list[str]:
    """Return the HTML lines with the total points, the points of attempted units, adjustments and lateness.

    A unit without an attempt and without points has no line of its own: all of them together are "not attempted".
    """
    titles = {unit.id: unit.title for unit in course.config.units}
    tried = {unit for unit, results in _by_unit(record).items() if any(map(_is_tried, results))}
    rows = [
        (escape(titles[unit["id"]]), _points_text(unit["score"], unit["max_score"]))
        for unit in record.units
        if unit["id"] in tried or unit["score"]
    ]
    others = [unit["max_score"] for unit in record.units if not (unit["id"] in tried or unit["score"])]
    if rows and others:
        rows.append(("not attempted", _points_text(0, total(others))))
    lines = summary_html(
        None if record.score is None else number(record.score),
        number(record.max_score),
        rows if len(rows) > 1 else [],
        no_score(record),
    )
    if record.score is not None and record.raw_score is not None and record.score != record.raw_score:
        lines.append(f"<p>Before lateness: {number(record.raw_score)} points</p>")
    return [*lines, *(f"<p>{escape(change.sentence)}</p>" for change in changes(record))]


def summary_html(
    points_text: str | None, most: str, rows: Sequence[tuple[str, str]], why: str = NOT_GRADED
) -> list[str]:
    """Return the HTML lines that a feedback page begins with.

    Args:
        points_text: the student's points; `None` if there is no score.
        most: the points that are possible.
        rows: the parts of the total, each as the HTML of its name and of its points.
        why: a sentence on why there is no score.
    """
    head = f"<b>{points_text}</b> of {most} points" if points_text is not None else escape(why)
    table_rows = "".join(f'<tr><th scope="row">{name}</th><td>{points}</td></tr>' for name, points in rows)
    return [f'<p class="all">{head}</p>', *([f'<table class="points">{table_rows}</table>'] if rows else [])]


def _points_text(points: float | None, most: float) -> str:
    """Return the points reached out of `most`, such as "3 of 4"; "not graded" if `points` is `None`."""
    return "not graded" if points is None else f"{number(points)} of {number(most)}"


def _unit_lines(
    title: str, results: Sequence[tuple[CourseExercise, ExerciseResult]], result_html: ShowResult
) -> list[str]:
    """Return the HTML lines of a unit: wrong exercises in full, then the names of right exercises and of untried ones.

    Args:
        title: the title of the unit, as plain text.
        results: the exercises of the unit, each with the student's result.
        result_html: returns the HTML of an exercise's result.
    """
    tried = [(exercise, result) for exercise, result in results if _is_tried(result)]
    right = [f"{exercise.id} ({number(result.score)})" for exercise, result in tried if result.status == "passed"]
    wrong = [result_html(exercise, result) for exercise, result in tried if result.status != "passed"]
    names = ", ".join(escape(exercise.id) for exercise, result in results if not _is_tried(result))
    count = "1 exercise is right" if len(right) == 1 else f"{len(right)} exercises are right"
    return [
        f"<h2>{escape(title)}</h2>",
        *wrong,
        *([f"<details><summary>{count}</summary>{escape(', '.join(right))}</details>"] if right else []),
        *([f"<p>Not attempted: {names}</p>"] if names else []),
    ]


def _picture_html(
    record: StudentResults, options: ExportOptions, exercise: CourseExercise, result: ExerciseResult
) -> str:
    """Return the HTML that `options.picture` draws of an exercise's result; empty for a record without a seed.

    Without the seed, the trials that a picture shows are unknown.
    """
    return "" if record.seed is None else options.picture(exercise, result, record.seed)


def _is_tried(result: ExerciseResult) -> bool:
    """Return whether any answer of an exercise is more than the untouched stub."""
    return any(answer.status != "todo" for answer in result.answers)


def _result_html(
    record: StudentResults, options: ExportOptions, exercise: CourseExercise, result: ExerciseResult
) -> str:
    """Return the HTML of an exercise's result: its points, for each wrong answer the message and the hints, a picture.

    Args:
        record: the student's results.
        options: `picture` draws the mistakes.
        exercise: the exercise.
        result: the result of the exercise.
    """
    is_adjusted = result.id in record.adjusted_ids
    points = None if result.status == "error" else result.score
    aside = BY_PERSON if points is None and is_adjusted else _points_text(points, result.max_score)
    shown = replace(result, answers=tuple(_answer_for_learners(answer, is_adjusted) for answer in result.answers))
    drawing = _picture_html(record, options, exercise, result)
    return ResultDisplay(exercise, shown, of_notebook=False, aside=aside).html(drawing=drawing)


def _answer_for_learners(answer: AnswerResult, is_adjusted: bool) -> AnswerResult:
    """Return an answer's result with its texts shortened.

    If the answer is an error or untouched, the message is one for learners, and there are no hints.

    Args:
        answer: the answer's result, whose message may be for the instructor if it is an error.
        is_adjusted: whether a person gave the exercise points.
    """
    if answer.status == "error":
        message, code = (BY_A_PERSON, None) if is_adjusted else (why_not_graded(answer), answer.code)
        return replace(answer, message=message, code=code, evidence="", hints=())
    if answer.status == "todo":
        return replace(answer, message=TODO, evidence="", hints=())
    hints = tuple(map(text, answer.hints))
    return replace(answer, message=text(answer.message), evidence=text(answer.evidence), hints=hints)

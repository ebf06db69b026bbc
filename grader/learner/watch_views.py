"""What a watch shows of an exercise and of a unit, as lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from grader.course.course import CourseExercise
from grader.rendering.console import report_width
from grader.rendering.render_text import (
    Line,
    after_hint,
    answer_in_need,
    exercise_report,
    first_steps,
    next_step,
    printed_lines,
)
from grader.results.records import AnswerResult, ExerciseResult

from .progress import by_unit, next_exercise
from .progress_terminal import exercise_lines, progress_bars
from .session import Session


def pending(exercise: CourseExercise) -> Iterator[Line]:
    """An exercise whose verdict is still to come."""
    yield ((exercise.file, "bold"), ("  is being checked ...", "todo"))


def unchecked(exercise: CourseExercise) -> Iterator[Line]:
    """An exercise whose check was ended."""
    yield ((exercise.file, "bold"), ("  is not checked; Enter checks it", "todo"))


def report(session: Session, exercise: CourseExercise, result: ExerciseResult, is_first: bool) -> Iterator[Line]:
    """The verdict on an exercise, what its code printed, how far its unit is, and what follows.

    Args:
        is_first: this is the learner's first sitting: it is said where the editor should open.
    """
    progress, width = session.progress, report_width()
    seen = {answer.name: progress.hints_seen(exercise, answer) for answer in result.answers}
    in_need = answer_in_need(result)
    served = "" if in_need is None else in_need.name
    yield from exercise_report(
        exercise, result, width, seen,
        step=lambda exercise, answer, seen: after_key(exercise, answer, seen) if answer.name == served else "",
    )  # fmt: skip
    yield from printed_lines(result, width)
    if result.status == "todo" and not exercise.is_quiz and exercise.path.is_file():
        yield from first_steps(exercise, width, is_first)
    elif result.status == "passed":
        yield (("Solved. ", "good"), ("s", "bold"), (": the worked solution beside yours", ""))
    elif exercise.is_quiz:
        yield (("t", "bold"), (": answer it here, one question at a time", ""))
    yield ()
    yield from progress_bars(by_unit(session.course, progress, [exercise.unit]), width)
    if result.status == "passed":
        yield what_follows(session, exercise)
    yield from (((note, "todo"),) for note in progress.notes)


def after_key(exercise: CourseExercise, answer: AnswerResult, seen: int) -> str:
    """What to press next, once this many hints have been seen."""
    return "next hint: h" if seen < len(answer.hints) else after_hint(exercise, answer, seen)


def units(session: Session, exercise: CourseExercise) -> Iterator[Line]:
    """Every unit, and the exercises of this one."""
    yield from progress_bars(
        by_unit(session.course, session.progress, [unit.id for unit in session.course.config.units]), report_width()
    )
    yield what_follows(session, exercise)
    yield ()
    of_unit = (each for each in session.course.exercises if each.unit == exercise.unit)
    yield from chain.from_iterable(exercise_lines(session, each) for each in of_unit)


def what_follows(session: Session, exercise: CourseExercise) -> Line:
    """The next exercise that is not solved, and the key that leads there."""
    following = next_open(session, exercise)
    if following is None:
        return next_step(None)
    if following.is_quiz and following.unit == exercise.unit:
        return (("next: ", ""), ("t", "bold"), (", the quiz of this unit", ""))
    return (("next: ", ""), ("n", "bold"), (f", {following.file}", ""))


def next_open(session: Session, exercise: CourseExercise) -> CourseExercise | None:
    """The next exercise that is not solved, after this one and round again."""
    every = session.course.exercises
    here = every.index(exercise) + 1
    return next_exercise(session.progress, [*every[here:], *every[:here]])

"""A learner's results and progress in the terminal: checks files, records and prints the results, and draws bars."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from grader.course.course import Course, CourseExercise
from grader.rendering.console import Spinner, is_plain, print_lines, report_width
from grader.rendering.picture_data import ExercisePictures
from grader.rendering.render_text import Line, Style, exercise_report, flag_lines, next_step, printed_lines
from grader.results.records import ExerciseResult, StudentResults, dumps

from .progress import UnitProgress, by_unit, next_exercise
from .session import Session

BAR, SHORTEST_BAR = 14, 6
NAME, COUNT = 27, 6  # columns of an exercise's id and of its answers in a list


def check_and_record(
    session: Session, chosen: Sequence[CourseExercise], album: list[ExercisePictures] | None = None
) -> list[ExerciseResult]:
    """Check exercises, and record and return the results.

    What is finished is saved, also if the learner stops the check.

    Args:
        session: the learner's session.
        chosen: the exercises.
        album: the list to which the pictures of each exercise are appended; `None` to make no pictures.
    """
    if not all(exercise.is_quiz for exercise in chosen):
        session.warm_up()
    if album is None:
        session.expect(chosen)
    results = []
    try:
        with Spinner("checking") as say:
            for exercise in chosen:
                say(exercise.file)
                if album is None:
                    results.append(session.check(exercise))
                else:
                    result, seen = session.check_with_pictures(exercise)
                    results.append(result)
                    album.append(seen)
                session.progress.record(exercise, results[-1])
    except KeyboardInterrupt:
        print("handgrad: stopped. What was finished is kept.", file=sys.stderr)
        raise
    finally:
        session.progress.save()
    return results


def last_result(session: Session, exercise: CourseExercise) -> ExerciseResult:
    """Return the last result of an exercise if its file has not changed since; otherwise check it."""
    known = session.progress.result(exercise)
    return known if known is not None else check_and_record(session, [exercise])[0]


def print_results(
    session: Session,
    chosen: Sequence[CourseExercise],
    results: Sequence[ExerciseResult],
    album: Sequence[ExercisePictures] | None,
    format: str,
) -> None:
    """Print the results on stdout.

    Args:
        session: the learner's session.
        chosen: the exercises.
        results: the result of each exercise.
        album: the pictures of each exercise; `None` to show none.
        format: `text`, `html` or `json`.
    """
    if format == "html":
        from grader.rendering.render_html import check_page

        print(check_page(session.course, chosen, results, album or ()), end="")
    elif format == "json":
        _print_json(session.course, results, session.grader.seed, album)
    else:
        _print_report(session, chosen, results, album, list_all=len(chosen) > 1)


def _print_json(
    course: Course, results: Sequence[ExerciseResult], seed: int, album: Sequence[ExercisePictures] | None = None
) -> None:
    """Print the results as one record; with pictures, as an object that holds the record and the pictures.

    Args:
        course: the course.
        results: the result of each exercise.
        seed: the seed of every trial.
        album: the pictures of each exercise; `None` to print the record alone.
    """
    result = StudentResults(course.config.course, "learner", tuple(results), seed, "none")
    if album is None:
        print(dumps(result), end="")
    else:
        from grader.rendering.picture_data import dumps_with_pictures

        print(dumps_with_pictures(result.record, album), end="")


def _print_report(
    session: Session, chosen: Iterable[CourseExercise], results: Iterable[ExerciseResult],
    album: Sequence[ExercisePictures] | None = None, *, list_all: bool,
) -> None:  # fmt: skip
    """Print the report on each exercise, the progress of the exercises' units, and the next thing to do.

    Args:
        session: the learner's session.
        chosen: the exercises.
        results: the result of each exercise.
        album: the pictures of each exercise; `None` to show none.
        list_all: whether there are several exercises, so that what each of them printed is left out.
    """
    width, chosen = report_width(), list(chosen)
    pictures = {pictures_of_exercise.exercise: pictures_of_exercise for pictures_of_exercise in album or ()}
    for exercise, result in zip(chosen, results, strict=True):
        hints_seen = {answer.name: session.progress.hints_seen(exercise, answer) for answer in result.answers}
        print_lines(exercise_report(exercise, result, width, hints_seen))
        print_lines(flag_lines(result, width) if list_all else printed_lines(result, width))
        if exercise.id in pictures and (not list_all or pictures[exercise.id].is_drawn):
            print_lines(_pictures(pictures[exercise.id], width))
    if list_all and pictures and not any(pictures_of_exercise.is_drawn for pictures_of_exercise in pictures.values()):
        print_lines([(("In none of these is there an array to draw.", ""),)])
    progress = session.progress
    print_lines(progress_bars(by_unit(session.course, progress, [exercise.unit for exercise in chosen]), width))
    print_lines([next_step(next_exercise(progress, chosen) or next_exercise(progress, session.course.exercises))])
    print_lines([((note, "todo"),) for note in progress.notes])


def _pictures(seen: ExercisePictures, width: int) -> Iterator[Line]:
    """Yield the lines of an exercise's pictures, at most `width` columns wide, with an empty line before and after."""
    from grader.rendering.picture_text import pictures_as_lines

    yield ()
    yield from pictures_as_lines(seen, width)
    yield ()


def progress_bars(units: Sequence[UnitProgress], width: int) -> Iterator[Line]:
    """Yield the progress of each unit as a line: the numbers, behind a bar if `width` columns have room for one.

    In plain mode, each line is a sentence without a bar.
    """
    if is_plain():
        yield from (((f"{unit.unit}: {_in_words(unit)}", ""),) for unit in units)
        return
    names = max((len(unit.unit) for unit in units), default=0)
    room = width - names - 4 - max((len(_numbers(unit)) for unit in units), default=0)
    length = min(BAR, room) if room >= SHORTEST_BAR else 0
    for unit in units:
        full = length * unit.done // max(unit.total, 1)
        style: Style = "good" if unit.done == unit.total else "bold" if unit.done else "dim"
        bar = "#" * full + "." * (length - full) + "  " * bool(length)
        yield ((f"{unit.unit:<{names}}  ", ""), (bar, style), (_numbers(unit), ""))


def _numbers(unit: UnitProgress) -> str:
    """Return the number of right answers in a unit, as it stands behind a bar: "7 of 20  quiz 3 of 8"."""
    quiz = f"  quiz {unit.questions_done} of {unit.questions}" if unit.questions else ""
    counted = f" {unit.counted}" if unit.counted != "answers" else ""
    return f"{unit.done} of {unit.total}{counted}{quiz}"


def _in_words(unit: UnitProgress) -> str:
    """Return the number of right answers in a unit, for plain text: "7 of 20 answers, quiz 3 of 8 questions"."""
    quiz = f", quiz {unit.questions_done} of {unit.questions} questions" if unit.questions else ""
    return f"{unit.done} of {unit.total} {unit.counted}{quiz}"


def exercise_lines(session: Session, exercise: CourseExercise) -> Iterator[Line]:
    """Yield the lines of one exercise in a list: its id, how many answers are right, such as "2/3", and its title."""
    result = session.progress.result(exercise)
    done = sum(answer.status == "passed" for answer in result.answers) if result else 0
    total = len(exercise.declaration.answers)
    title = exercise.declaration.title + (" (stretch)" if exercise.stretch else "")
    count = f"{done}/{total}"
    name = f"  {exercise.id:<{NAME - 1}} "  # of any length
    indent = max(len(name), NAME + 2) + COUNT
    room = max(report_width() - indent, 20)
    first, *more = textwrap.wrap(title, room, break_long_words=False, break_on_hyphens=False)
    style: Style = "good" if done == total else "dim"
    yield ((name, ""), (f"{count:<{COUNT}}", style), (first, "dim"))
    yield from (((" " * indent + line, "dim"),) for line in more)

"""Prints reports and lists on the terminal, and a spinner where somebody is watching."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from grader.course import Course, CourseExercise
from grader.results import CourseResult, ExerciseResult, dumps

from .plain_mode import is_plain
from .progress import by_unit, next_exercise
from .render_text import Line, Style, exercise_report, flag_lines, next_step, printed_lines, progress_bars
from .session import Session

if TYPE_CHECKING:
    from grader.picture.picture_data import ExercisePictures

STYLES = {
    "bold": "bold", "good": "green", "bad": "red", "todo": "yellow", "dim": "dim", "mark": "bold magenta",
    "cold1": "white on color(60)", "cold2": "white on color(61)", "cold3": "white on color(26)",
    "cold4": "bold white on color(27)",
    "hot1": "white on color(95)", "hot2": "white on color(130)", "hot3": "white on color(166)",
    "hot4": "bold white on color(202)",
}  # fmt: skip
MAX_WIDTH = 100
IN_A_LIST = 30  # columns before an exercise's title


def print_json(
    course: Course, results: Sequence[ExerciseResult], seed: int, album: Sequence[ExercisePictures] | None = None
) -> None:
    """The results of a learner's own check as one record; with pictures, inside another that has both."""
    result = CourseResult(course.config.course, "learner", tuple(results), seed, "none")
    if album is None:
        print(dumps(result), end="")
    else:
        from grader.picture.picture_json import dumps_with_pictures

        print(dumps_with_pictures(result.record, album), end="")


def print_report(
    session: Session, chosen: Iterable[CourseExercise], results: Iterable[ExerciseResult],
    album: Sequence[ExercisePictures] | None = None, *, list_all: bool,
) -> None:  # fmt: skip
    """Print the report on each exercise, the progress of their units and the next thing to do.

    Args:
        album: the pictures of each exercise, if they are to be shown.
        list_all: whether there are several exercises, so that what each printed is left out.
    """
    width, chosen = report_width(), list(chosen)
    pictures = {pictures_of_exercise.exercise: pictures_of_exercise for pictures_of_exercise in album or ()}
    for exercise, result in zip(chosen, results, strict=True):
        pictures_of_exercise = {answer.name: session.progress.hints_seen(exercise, answer) for answer in result.answers}
        print_lines(exercise_report(exercise, result, width, pictures_of_exercise))
        print_lines(flag_lines(result, width) if list_all else printed_lines(result, width))
        if exercise.id in pictures and (not list_all or pictures[exercise.id].is_drawn):
            print_lines(_pictures(pictures[exercise.id], width))
    if list_all and pictures and not any(pictures_of_exercise.is_drawn for pictures_of_exercise in pictures.values()):
        print_lines([(("In none of these is there an array to draw.", ""),)])
    progress = session.progress
    print_lines(progress_bars(by_unit(session.course, progress, [exercise.unit for exercise in chosen]), width))
    print_lines([next_step(next_exercise(progress, chosen) or next_exercise(progress, session.course.exercises))])
    print_lines([((note, "todo"),) for note in progress.notes])


def drawn(seen: ExercisePictures, width: int) -> Iterator[Line]:
    """The pictures of one exercise; in plain mode, the same in words."""
    if is_plain():
        from .picture_words import pictures_in_words as lines
    else:
        from .picture_terminal import picture_lines as lines
    yield from lines(seen, width)


def _pictures(seen: ExercisePictures, width: int) -> Iterator[Line]:
    yield ()
    yield from drawn(seen, width)
    yield ()


def exercise_lines(session: Session, exercise: CourseExercise) -> Iterator[Line]:
    """One exercise in a list: how far it is, and its title, on as many lines as that takes."""
    result = session.progress.result(exercise)
    done = sum(answer.status == "passed" for answer in result.answers) if result else 0
    total = len(exercise.declaration.answers)
    title = exercise.declaration.title + (" (stretch)" if exercise.stretch else "")
    count = f"{done}/{total}"
    room = max(report_width() - IN_A_LIST, 20)
    first, *more = textwrap.wrap(title, room, break_long_words=False, break_on_hyphens=False)
    style: Style = "good" if done == total else "dim"
    yield (("  ", ""), (f"{exercise.id:<22}", ""), (f"{count:<6}", style), (first, "dim"))
    yield from (((" " * IN_A_LIST + line, "dim"),) for line in more)


def report_width() -> int:
    """How wide the report is."""
    return min(terminal().width, MAX_WIDTH)


def terminal() -> Console:
    """The terminal that reports are printed on."""
    return Console(highlight=False, soft_wrap=True)


def print_lines(lines: Iterable[Line]) -> None:
    """Put lines on the terminal."""
    console = terminal()
    for line in lines:
        console.print(styled(line))


def styled(line: Line, link: CourseExercise | None = None) -> Text:
    """A line with its styles.

    Args:
        link: its file opens at a click wherever it is named, in terminals that can.
    """
    text = Text.assemble(*[(text, STYLES.get(style, "")) for text, style in line])
    if link is not None:
        text.highlight_words([link.file], f"link {link.path.as_uri()}")
    return text


def clear_screen() -> None:
    """Clear the screen."""
    terminal().clear()


class Spinner:
    """A line on stderr that says what is going on, where somebody is watching."""

    def __init__(self, what: str) -> None:
        self.what = what
        watched = sys.stderr.isatty() and not is_plain()
        self.status = Console(stderr=True).status(what) if watched else None

    def __enter__(self) -> Any:
        if self.status is not None:
            self.status.start()
        return self.say

    def __exit__(self, *_: object) -> None:
        if self.status is not None:
            self.status.stop()

    def say(self, detail: str) -> None:
        """Say what is being done now."""
        if self.status is not None:
            self.status.update(f"{self.what} {detail}")

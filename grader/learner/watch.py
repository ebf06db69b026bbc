"""The command `handgrad` alone: watches the exercise files, checks each as it is saved, listens for single keys."""

from __future__ import annotations

import contextlib
import os
import queue
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from grader.course import Course, CourseExercise
from grader.errors import HandgradError, UsageError
from grader.results import AnswerResult, ExerciseResult

from . import workspace
from .console import Spinner, clear_screen, exercise_lines, print_lines, report_width
from .key_presses import keyboard
from .progress import by_unit, file_hash, next_exercise
from .quiz_session import QuizSession
from .quiz_terminal import take_quiz, wrapped
from .render_text import (
    Line,
    Style,
    after_hint,
    answer_in_need,
    differences,
    exercise_report,
    first_steps,
    hint_lines,
    key_legend,
    next_step,
    printed_lines,
    progress_bars,
)
from .session import Session
from .watch_events import RESIZED, Event, resizes, saves

KEYS = (
    ("h", "hint"), ("n", "next"), ("t", "quiz"), ("l", "list"), ("a", "all"),
    ("p", "picture"), ("s", "solution"), ("r", "reset"), ("q", "quit"),
)  # fmt: skip
ELSEWHERE = ("Enter", "back")
BACK = "Enter: back to the exercises "
Screen = Callable[[], Iterable[Line]]


def watch(course: Course) -> None:
    """Show the next exercise, check what is saved, do what the keys say, until `q`, Ctrl-C or the terminal's end.

    Raises:
        UsageError: this is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "to watch, handgrad needs a terminal: without one, use handgrad check (or see handgrad --help)."
        )
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    with Session(course) as session, resizes(events), saves(course, events):
        with contextlib.suppress(KeyboardInterrupt):
            _run_screens(session, events)
        session.progress.save()


def _run_screens(session: Session, events: queue.SimpleQueue[Event]) -> None:
    """Until the learner quits; single keys while exercises are on the screen, whole lines while a quiz is."""
    watching = _Watch(session)
    shown: CourseExercise | None = watching.current
    while shown is not None:
        with keyboard(events.put):
            session.warm_up()
            watching.check([shown])
            shown = watching.run(events)
        if shown is not None:
            _run_quiz(session, shown)


def _run_quiz(session: Session, quiz: CourseExercise) -> None:
    """One quiz, until the learner has read how it ended."""
    clear_screen()
    try:
        take_quiz(session, QuizSession(quiz, workspace.new_variant()))
    except HandgradError as error:
        print_lines([((str(error), "bad"),)])
    with contextlib.suppress(EOFError):
        input(BACK)


class _Watch:
    """The screen of a watch: what it shows, and what a save or a key does.

    Args:
        session: the learner's sitting; its worker stays warm.
    """

    def __init__(self, session: Session) -> None:
        self.session, self.course = session, session.course
        self.files = {Path(os.path.realpath(exercise.path)): exercise for exercise in self.course.exercises}
        self.current = next_exercise(session.progress, self.course.exercises) or self.course.exercises[0]
        self.shown: Screen = self._report
        self.asked = False

    def run(self, events: queue.SimpleQueue[Event]) -> CourseExercise | None:
        """Until the learner quits, or asks for a quiz, which is returned."""
        while (event := events.get()) not in ("q", ""):
            try:
                if event in ("t", "T") and not self.asked:
                    return self._quiz()
                self._handle(event)
            except HandgradError as error:
                self._say(str(error), "bad")
        return None

    def _quiz(self) -> CourseExercise:
        """The quiz of the unit on the screen.

        Raises:
            UsageError: it has none.
        """
        quiz = next((exercise for exercise in self._unit() if exercise.is_quiz), None)
        if quiz is None:
            raise UsageError(f"{self.current.unit} has no quiz.")
        return quiz

    def _handle(self, event: Event) -> None:
        if not isinstance(event, str):
            self._check_saved(event)
        elif event == RESIZED:
            self._draw()
        elif self.asked:
            self._reset(event)
        else:
            actions = {
                "h": self._hint, "n": self._next, "l": self._list, "a": self._all,
                "p": self._picture, "s": self._solution, "r": self._ask,
            }  # fmt: skip
            actions.get(event.lower(), self._back)()

    def _check_saved(self, paths: frozenset[Path]) -> None:
        """Check what has changed since it was last seen, the first such file in teaching order on the screen."""
        changed = [
            exercise
            for path, exercise in self.files.items()
            if path in paths and self._hash_last_seen(exercise) != file_hash(exercise.path)
        ]
        if changed:
            self.check(changed)

    def _hash_last_seen(self, exercise: CourseExercise) -> str | None:
        known = self.session.progress.exercises.get(exercise.id, {}).get("hash")
        return None if known is None else str(known)

    def check(self, exercises: list[CourseExercise]) -> None:
        """Check these, and put the first of them on the screen."""
        with Spinner("checking") as say:
            for exercise in exercises:
                say(exercise.file)
                self.session.progress.record(exercise, self.session.check(exercise))
        self.session.progress.save()
        self.current, self.asked = exercises[0], False
        self._show(self._report)

    def _result(self) -> ExerciseResult:
        """The verdict on the file as it is now."""
        known = self.session.progress.result(self.current)
        if known is None:
            known = self.session.check(self.current)
            self.session.progress.record(self.current, known)
        return known

    def _report(self) -> Iterator[Line]:
        progress, width, result = self.session.progress, report_width(), self._result()
        seen = {answer.name: progress.hints_seen(self.current, answer) for answer in result.answers}
        in_need = answer_in_need(result)
        served = "" if in_need is None else in_need.name
        yield from exercise_report(
            self.current, result, width, seen,
            step=lambda exercise, answer, seen: _after_hint(exercise, answer, seen) if answer.name == served else "",
        )  # fmt: skip
        yield from printed_lines(result, width)
        if result.status == "todo" and not self.current.is_quiz and self.current.path.is_file():
            yield from first_steps(self.current, width)
        elif result.status == "passed":
            yield (("Solved. ", "good"), ("s", "bold"), (": the worked solution beside yours", ""))
        elif self.current.is_quiz:
            yield (("t", "bold"), (": answer it here, one question at a time", ""))
        yield ()
        yield from progress_bars(by_unit(self.course, progress, [self.current.unit]), width)
        if result.status == "passed":
            yield self._what_follows()
        yield from (((note, "todo"),) for note in progress.notes)

    def _what_follows(self) -> Line:
        following = self._next_open_exercise()
        if following is None:
            return next_step(None)
        if following.is_quiz and following.unit == self.current.unit:
            return (("next: ", ""), ("t", "bold"), (", the quiz of this unit", ""))
        return (("next: ", ""), ("n", "bold"), (f", {following.file}", ""))

    def _back(self) -> None:
        self._show(self._report)

    def _hint(self) -> None:
        progress = self.session.progress
        answer = answer_in_need(self._result())
        if answer is None or not answer.hints:
            self._say("There is nothing to hint at here.")
            return
        seen = min(progress.hints_seen(self.current, answer) + 1, len(answer.hints))
        progress.record_hints_seen(self.current, answer, seen)
        progress.save()
        head: Line = ((f"{self.current.file}  {answer.name}", "bold"),)
        self._show(lambda: [head, *hint_lines(self.current, answer, report_width(), seen, _after_hint)])

    def _next_open_exercise(self) -> CourseExercise | None:
        """The next exercise that is not solved, after this one and round again."""
        exercises = self.course.exercises
        here = exercises.index(self.current) + 1
        return next_exercise(self.session.progress, [*exercises[here:], *exercises[:here]])

    def _next(self) -> None:
        following = self._next_open_exercise()
        if following is None:
            self._say("Every exercise is solved.", "good")
        else:
            self.check([following])

    def _list(self) -> None:
        """Every unit, and the exercises of this one: what fits on a screen."""
        self._show(
            lambda: [*self._units(), (), *chain.from_iterable(exercise_lines(self.session, e) for e in self._unit())]
        )

    def _all(self) -> None:
        current = self.current
        self.check(list(self.course.exercises))
        self.current = current
        self._list()

    def _unit(self) -> list[CourseExercise]:
        return [exercise for exercise in self.course.exercises if exercise.unit == self.current.unit]

    def _units(self) -> Iterator[Line]:
        units = [unit.id for unit in self.course.config.units]
        yield from progress_bars(by_unit(self.course, self.session.progress, units), report_width())
        yield self._what_follows()

    def _picture(self) -> None:
        """What is wrong, drawn; the file is checked once more for it."""
        from .picture_terminal import picture_lines

        result, seen = self.session.check_with_pictures(self.current)
        self.session.progress.record(self.current, result)
        self.session.progress.save()
        head: Line = ((self.current.file, "bold"),)
        self._show(lambda: [head, (), *picture_lines(seen, report_width())])

    def _solution(self) -> None:
        if self._result().status != "passed":
            self._say(f"{self.current.file} does not pass yet; h gives a hint.")
            return
        self._show(lambda: differences(self.current))

    def _ask(self) -> None:
        self._say(f"Put the stub of {self.current.file} back? What you wrote is kept as a backup.  y/n", "bold")
        self.asked = True

    def _reset(self, key: str) -> None:
        self.asked = False
        if key.lower() != "y":
            self._show(self._report)
            return
        backup = workspace.reset(self.current)
        self.session.progress.forget(self.current)
        self.check([self.current])
        if backup is not None:
            self._say(f"What was there is in {backup.relative_to(self.course.root)}.", "dim")

    def _say(self, text: str, style: Style = "") -> None:
        """One more line below what is on the screen."""
        self._draw()
        print_lines(wrapped(text, style))

    def _show(self, screen: Screen) -> None:
        self.shown = screen
        self._draw()

    def _draw(self) -> None:
        lines = list(self.shown())
        clear_screen()
        keys = KEYS if self.shown == self._report else (*KEYS, ELSEWHERE)
        print_lines([*lines, (), *key_legend(keys, report_width())], link=self.current)


def _after_hint(exercise: CourseExercise, answer: AnswerResult, seen: int) -> str:
    """What to press next, once this many hints have been seen."""
    return "next hint: h" if seen < len(answer.hints) else after_hint(exercise, answer, seen)

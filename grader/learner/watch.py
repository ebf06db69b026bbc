"""The command `handgrad` alone: watches the exercise files, checks each as it is saved, listens for single keys."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable

from grader.course.course import Course, CourseExercise
from grader.errors import HandgradError, UsageError
from grader.rendering.console import is_plain, print_lines, report_width, terminal
from grader.rendering.render_text import Line, wrapped
from grader.sandbox.worker import Worker, start_worker

from . import workspace
from .key_presses import ENDED, Modes, keyboard
from .quiz_session import QuizSession
from .quiz_terminal import take_quiz
from .screen import DrawnScreen, PlainScreen, Screen
from .session import Session
from .watch_checks import Checked, Checks
from .watch_events import Event, Events, Happened, Key, saves, signals, suspend
from .watch_keys import Keys
from .watched import Watched

BACK = "Enter: back to the exercises "


def watch(course: Course) -> None:
    """Show the next exercise, check what is saved, do what the keys say, until `q`, Ctrl-C or the terminal's end.

    Raises:
        UsageError: this is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "to watch, handgrad needs a terminal: without one, use handgrad check (or see handgrad --help)."
        )
    events = Events()
    with start_worker("none") as worker, Session(course, worker) as session, saves(course, events):
        watching = Watch(session, worker, events)
        try:
            while (quiz := watching.run()) is not None:
                _run_quiz(session, quiz)
        finally:
            watching.checks.close()
            session.progress.save()


def _run_quiz(session: Session, quiz: CourseExercise) -> None:
    """One quiz, until the learner has read how it ended; whole lines are typed meanwhile."""
    if not is_plain():
        terminal().clear()
    try:
        take_quiz(session, QuizSession(quiz, workspace.new_variant()))
    except HandgradError as error:
        print_lines([((str(error), "bad"),)])
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        input(BACK)


class Watch:
    """The loop: takes one event after the other, and draws what has come of it. Checks run beside it.

    Args:
        session: the learner's sitting.
        worker: the session's; it stays warm.
    """

    def __init__(self, session: Session, worker: Worker, events: Events) -> None:
        self.session, self.events = session, events
        self.checks = Checks(session, worker, events.put)
        self.screen: Screen = PlainScreen() if is_plain() else DrawnScreen()
        self.watched = Watched(session, self.checks, self.screen)
        self.keys = Keys(self.watched)
        if is_plain():
            self.watched.say("Type a letter, and Enter. A question mark says which letters there are.")

    def run(self) -> CourseExercise | None:
        """Until the learner quits, or asks for a quiz, which is returned."""
        self.keys.quiz = None
        with signals(self.events), keyboard(lambda key: self.events.put(Key(key)), whole_lines=is_plain()) as modes:
            self.screen.clear()
            self._try(lambda: self.watched.go(self.watched.current))
            while self.keys.quiz is None:
                event = self.events.get()
                if event == Key(ENDED) or (self.watched.question is None and self._quits(event)):
                    break
                self._try(lambda: self._handle(event, modes))
        print()
        return self.keys.quiz

    def _quits(self, event: Event) -> bool:
        return event in (Key("q"), Key("Q")) or (event is Happened.INTERRUPTED and self.checks.is_idle)

    def _try(self, act: Callable[[], None]) -> None:
        """Do something, say why where it cannot be done, and draw what has come of it."""
        try:
            act()
        except HandgradError as error:
            self.watched.say(str(error), "bad")
        self._draw()

    def _handle(self, event: Event, modes: Modes) -> None:
        if isinstance(event, Checked):
            self.watched.take(event)
        elif isinstance(event, Key):
            self.keys.press(event.name)
        elif event is Happened.SAVED:
            self.watched.check(self.checks.changed(self.watched.current))
        elif event is Happened.INTERRUPTED:
            self._interrupt()
        elif event is Happened.SUSPENDED:
            self.checks.again()  # no endless loop runs meanwhile
            modes.leave()
            suspend()
            modes.enter()  # in the background it is stopped here, before it draws over what is there
            self.events.put(Happened.CONTINUED)
        elif event is Happened.CONTINUED:
            modes.enter()
            self.screen.clear()
            self.checks.again()
            self.watched.check(self.checks.changed(self.watched.current))

    def _interrupt(self) -> None:
        """Ctrl-C: leave the question on the screen, or else end what is running."""
        self.watched.message = []
        if self.watched.question is not None:
            self.watched.question = None
        else:
            self.checks.clear()
            self.session.progress.save()
            self.watched.say("The check was ended. Ctrl-C once more: quit.")

    def _draw(self) -> None:
        message = [*self.watched.message, *self._under_way()]
        if (question := self.watched.question) is not None:
            message += wrapped(f"{question.prompt} {question.typed}", report_width(), "", "bold", indent=0)
        self.screen.show(self.watched.view(), message, list(self.keys.legend()), self.watched.current)

    def _under_way(self) -> list[Line]:
        """What is being checked, where nothing is drawn over but a window."""
        if self.checks.is_idle or is_plain():
            return []
        running, more = self.checks.running, len(self.checks.waiting)
        what = f"checking {running.exercise.file}" if running else "checking"
        return [((f"{what}{f', and {more} more' if more else ''}   Ctrl-C", "todo"), (": end it", ""))]

"""The command `handgrad` alone, watch mode: checks exercise files as they are saved, and runs the commands of keys.

One loop takes events from a queue: keys, saved files, outcomes of checks, and signals. Files are checked in another
thread, so that it never waits for learner code.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from grader.course.course import Course, CourseExercise
from grader.errors import HandgradError, UsageError
from grader.rendering.console import is_plain, print_lines, report_width, terminal
from grader.rendering.render_text import Line, wrapped
from grader.sandbox.worker import Worker, start_worker

from . import workspace
from .quiz_session import QuizSession
from .quiz_terminal import take_quiz
from .session import Session
from .watch_checks import CheckOutcome, Checks
from .watch_commands import Commands, WatchState
from .watch_terminal import INPUT_END, DrawnScreen, PlainScreen, Screen, TerminalModes, keyboard

BACK_PROMPT = "Enter: back to the exercises "
SETTLING = 30  # milliseconds in which an editor may write a file more than once


@dataclass(frozen=True)
class Key:
    """A key that was pressed, or in plain mode a line that was typed."""

    name: str


class SystemEvent(Enum):
    """An event from outside: `SAVED` if any exercise file has changed, otherwise a signal."""

    SAVED = "saved"
    RESIZED = "SIGWINCH"
    INTERRUPTED = "SIGINT"
    SUSPENDED = "SIGTSTP"
    CONTINUED = "SIGCONT"


Event = Key | CheckOutcome | SystemEvent
Events = queue.SimpleQueue[Event]


def watch(course: Course) -> None:
    """Show the next exercise, check files as they are saved, and run commands, until the learner quits.

    Raises:
        UsageError: stdin or stdout is no terminal, or the course has no exercises/ folder.
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
    """Take a quiz in the terminal, with whole lines typed, and wait for Enter at its end."""
    if not is_plain():
        terminal().clear()
    try:
        take_quiz(session, QuizSession(quiz, workspace.new_variant()))
    except HandgradError as error:
        print_lines([((str(error), "bad"),)])
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        input(BACK_PROMPT)


class Watch:
    """Handle events one after the other, and draw the screen after each.

    Args:
        session: the course and the learner's progress.
        worker: runs the code for the session.
        events: the queue of events; the outcomes of checks are put there too.
    """

    def __init__(self, session: Session, worker: Worker, events: Events) -> None:
        self.session, self.events = session, events
        self.checks = Checks(session, worker, events.put)
        self.screen: Screen = PlainScreen() if is_plain() else DrawnScreen()
        self.state = WatchState(session, self.checks, self.screen)
        self.commands = Commands(self.state)
        if is_plain():
            self.state.say("Type a letter, and Enter. A question mark says which letters there are.")

    def run(self) -> CourseExercise | None:
        """Handle events until the learner quits or requests a quiz; return the quiz, or `None`."""
        self.commands.quiz = None
        with signals(self.events), keyboard(lambda key: self.events.put(Key(key)), whole_lines=is_plain()) as modes:
            self.screen.clear()
            self._attempt(lambda: self.state.go(self.state.current))
            while self.commands.quiz is None:
                event = self.events.get()
                if event == Key(INPUT_END) or (self.state.prompt is None and self._quits(event)):
                    break
                self._attempt(lambda: self._handle(event, modes))
        print()
        return self.commands.quiz

    def _quits(self, event: Event) -> bool:
        """Return whether an event ends watch mode: the key q, or Ctrl-C while nothing is checked."""
        return event in (Key("q"), Key("Q")) or (event is SystemEvent.INTERRUPTED and self.checks.is_idle)

    def _attempt(self, action: Callable[[], None]) -> None:
        """Call a function, show the error if it raises one, and draw the screen."""
        try:
            action()
        except HandgradError as error:
            self.state.say(str(error), "bad")
        self._draw()

    def _handle(self, event: Event, modes: TerminalModes) -> None:
        """Handle one event; `modes` is the terminal, which is left and entered again when the program is suspended."""
        if isinstance(event, CheckOutcome):
            self.state.record(event)
        elif isinstance(event, Key):
            self.commands.press(event.name)
        elif event is SystemEvent.SAVED:
            self.state.check(self.checks.changed(self.state.current))
        elif event is SystemEvent.INTERRUPTED:
            self._interrupt()
        elif event is SystemEvent.SUSPENDED:
            self.checks.restart()  # so that no endless loop runs meanwhile
            modes.leave()
            suspend()
            modes.enter()  # a program in the background is stopped here, before it draws
            self.events.put(SystemEvent.CONTINUED)
        elif event is SystemEvent.CONTINUED:
            modes.enter()
            self.screen.clear()
            self.checks.restart()
            self.state.check(self.checks.changed(self.state.current))

    def _interrupt(self) -> None:
        """Dismiss the prompt, or stop all checks if there is none."""
        self.state.message = []
        if self.state.prompt is not None:
            self.state.prompt = None
        else:
            self.checks.clear()
            self.session.progress.save()
            self.state.say("The check was ended. Ctrl-C once more: quit.")

    def _draw(self) -> None:
        """Show the current view, with the message, the check in progress and the open prompt below it."""
        message = [*self.state.message, *self._check_in_progress()]
        if (prompt := self.state.prompt) is not None:
            message += wrapped(f"{prompt.text} {prompt.typed}", report_width(), "", "bold", indent=0)
        self.screen.show(self.state.view(), message, list(self.commands.legend()), self.state.current)

    def _check_in_progress(self) -> list[Line]:
        """Return the line that says what is being checked; none in plain mode, where it could not be removed."""
        if self.checks.is_idle or is_plain():
            return []
        running, more = self.checks.running, len(self.checks.waiting)
        text = f"checking {running.exercise.file}" if running else "checking"
        return [((f"{text}{f', and {more} more' if more else ''}   Ctrl-C", "todo"), (": end it", ""))]


@contextlib.contextmanager
def signals(events: Events) -> Iterator[None]:
    """Put an event into the queue for Ctrl-C, for Ctrl-Z and the end of it, and for a new size of the terminal."""
    handlers = {}
    for event in (SystemEvent.RESIZED, SystemEvent.INTERRUPTED, SystemEvent.SUSPENDED, SystemEvent.CONTINUED):
        if number := getattr(signal, event.value, None):
            handlers[number] = signal.signal(number, lambda *_, event=event: events.put(event))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def suspend() -> None:
    """Suspend this program, as Ctrl-Z does to other programs; return when it is continued."""
    handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, handler)


@contextlib.contextmanager
def saves(course: Course, events: Events) -> Iterator[None]:
    """Put `SAVED` into the queue whenever a file below `exercises/` changes, and once at the beginning.

    Raises:
        UsageError: the course has no such folder.
    """
    from watchfiles import watch as changes

    folder = os.path.realpath(course.root / "exercises")
    if not os.path.isdir(folder):
        raise UsageError(f"{course.root} has no exercises/ folder: make a course with: handgrad init my-course")
    stop = threading.Event()

    def listen() -> None:
        batches = changes(folder, step=SETTLING, debounce=10 * SETTLING, rust_timeout=200, yield_on_timeout=True,
                          stop_event=stop, raise_interrupt=False)  # fmt: skip
        for number, batch in enumerate(batches):
            if batch or number == 0:  # a file may have been saved before the first batch
                events.put(SystemEvent.SAVED)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()

"""The command `handgrad` alone, watch mode: checks exercise files as they are saved, and runs the commands of keys.

One loop (`Watch`) takes events from a queue: keys, saved files, outcomes of checks, and signals. Files are checked in
another thread, so that it never waits for learner code. Each key has a command (`Commands`), which changes the exercise
and the view on the screen (`WatchState`).
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain

from grader.course.course import Course, CourseExercise
from grader.errors import HandgradError, UsageError
from grader.rendering.console import is_plain, print_lines, report_width, terminal
from grader.rendering.render_text import (
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
    wrapped,
)
from grader.results.records import AnswerResult, ExerciseResult
from grader.sandbox.worker import Worker, start_worker

from . import lesson, workspace
from .check_terminal import exercise_lines, progress_bars
from .progress import by_unit, file_hash, next_exercise, whole_course
from .quiz_session import QuizSession
from .quiz_terminal import take_quiz
from .session import Session
from .watch_checks import CheckOutcome, Checks
from .watch_terminal import (
    BACKSPACE,
    ENTER,
    ESCAPE,
    INPUT_END,
    Body,
    DrawnScreen,
    PlainScreen,
    Screen,
    TerminalModes,
    keyboard,
)

BACK_PROMPT = "Enter: back to the exercises "
LOOKING = "wrong; the mistake is being looked for ..."
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
View = Callable[[], Body]


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
        """Choose the screen, drawn or plain; nothing is checked yet."""
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
        """Return whether an event ends watch mode: the key q, except on a picture, or Ctrl-C while no check runs."""
        if event in (Key("q"), Key("Q")):
            return not self.commands.shows_picture
        return event is SystemEvent.INTERRUPTED and self.checks.is_idle

    def _attempt(self, action: Callable[[], None]) -> None:
        """Call a function, show the error if the function raises one, and draw the screen."""
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
        """Dismiss the prompt, or, if there is none, stop all checks and save the progress."""
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


class Commands:
    """Run the command of each key.

    Args:
        state: what the commands act on.

    Attributes:
        quiz: the quiz that a command has requested; `None` if none has.
        by_key: by key, a word for the legend, and the command.
    """

    def __init__(self, state: WatchState) -> None:
        """Assign the commands to their keys."""
        self.state = state
        self.quiz: CourseExercise | None = None
        self.lesson: Body = ()
        self.by_key: dict[str, tuple[str, Callable[[], None]]] = {
            "h": ("hint", self._hint), "n": ("next", self._next), "b": ("previous", self._previous),
            "g": ("go to", self._ask_where_to_go), "o": ("lesson", self._lesson), "t": ("quiz", self._quiz),
            "l": ("list", self._list), "a": ("check all", self._check_all), "p": ("picture", self._picture),
            "s": ("solution", self._solution), "r": ("reset", self._ask_to_reset),
        }  # fmt: skip

    @property
    def shows_picture(self) -> bool:
        """Return whether a picture is on the screen, which the key q closes."""
        return self.state.view == self._picture_view

    def legend(self) -> Iterator[Line]:
        """Yield the lines that name every key which does something in the current view."""
        q = ("q", "close the picture" if self.shows_picture else "quit")
        keys = [*((key, word) for key, (word, _) in self.by_key.items()), q]
        elsewhere = [("Enter", "back")] if self.state.view != self.state.report else []
        browser = [("w", "lesson in the browser, with its pictures")] if self.state.view == self._lesson_view else []
        yield from key_legend([*keys, *elsewhere, *browser], report_width())

    def press(self, key: str) -> None:
        """Run the command of a key; while a prompt is open, pass the key to the prompt instead.

        In plain mode, `key` is a whole line: a key, or a key and an answer.
        """
        self.state.message = []
        if (prompt := self.state.prompt) is not None:
            if prompt.press(key, whole_lines=is_plain()):
                self.state.prompt = None
                prompt.on_answer(prompt.typed)
        elif not self.state.screen.turn(key):
            self._run(*key.split(maxsplit=1) or [key])

    def _run(self, key: str, answer: str = "") -> None:
        """Run the command of a key.

        Args:
            key: the key.
            answer: in plain mode, the answer to the prompt of the command, typed in the same line.
        """
        if key.lower() in self.by_key:
            self.by_key[key.lower()][1]()
            if answer and self.state.prompt is not None:
                self.press(answer)
        elif key == ENTER or (key.lower() == "q" and self.shows_picture):
            self.state.go(self.state.current)
        elif key == "w" and self.state.view == self._lesson_view:
            self.state.say(lesson.open_in_browser(self.state.course, self.state.current.unit))
        elif is_plain():
            self.state.message = list(self.legend())

    def _hint(self) -> None:
        """Show one more hint than before on the first answer that is wrong, or else not begun.

        Show the same ones again if all have been shown; say so if there is no such answer, or it has no hints. How many
        were shown is saved.
        """
        answer = answer_in_need(self.state.result())
        if answer is None or not answer.hints:
            self.state.say("There is nothing to hint at here.")
            return
        exercise, progress = self.state.current, self.state.session.progress
        seen = min(progress.hints_seen(exercise, answer) + 1, len(answer.hints))
        progress.record_hints_seen(exercise, answer, seen)
        progress.save()
        head: Line = ((f"{exercise.file}  {answer.name}", "bold"),)
        self.state.show(lambda: [head, *hint_lines(exercise, answer, report_width(), seen, next_key)])

    def _next(self) -> None:
        """Go to the next exercise that is not solved; say so if all are."""
        following = next_unsolved(self.state.session, self.state.current)
        if following is None:
            self.state.say("Every exercise is solved.", "good")
        else:
            self.state.go(following)

    def _previous(self) -> None:
        """Go to the exercise before this one in teaching order; at the first one, say so and stay there."""
        before = self.state.course.exercises.index(self.state.current) - 1
        if before < 0:
            self.state.say("This is the first exercise.")
        else:
            self.state.go(self.state.course.exercises[before])

    def _ask_where_to_go(self) -> None:
        """Ask for the name of an exercise, or the name or number of a unit; the answer is shown by `_go_to`."""
        self.state.prompt = Prompt("Go to which exercise or unit?", self._go_to, is_word=True)

    def _go_to(self, name: str) -> None:
        """Go to an exercise by its name, or to the first unsolved one of a unit, given by its name or number.

        Go to the first exercise of the unit if all are solved, and nowhere if the name is blank.

        Raises:
            UsageError: the name is that of no exercise or unit.
        """
        if not name.strip():
            return
        exercises = self.state.course.select([name.strip()])
        self.state.go(next_exercise(self.state.session.progress, exercises) or exercises[0])

    def _quiz(self) -> None:
        """Request the quiz of the unit on the screen.

        Raises:
            UsageError: the unit has no quiz.
        """
        unit, exercises = self.state.current.unit, self.state.course.exercises
        self.quiz = next((exercise for exercise in exercises if exercise.is_quiz and exercise.unit == unit), None)
        if self.quiz is None:
            raise UsageError(f"{unit} has no quiz.")

    def _list(self) -> None:
        """Show the units and their exercises."""
        self.state.show(lambda: list(unit_lines(self.state.session, self.state.current)))

    def _check_all(self) -> None:
        """Check every exercise, and show the list."""
        self.state.checks.add(self.state.course.exercises)
        self._list()
        self.state.say("Every exercise is checked, one after the other, and the list counts them. Ctrl-C ends that.")

    def _picture(self) -> None:
        """Draw the mistakes; for that the file is checked once more, unless it was checked with pictures."""
        if (known := self.state.known_outcome()) is None or known.pictures is None:
            self.state.checks.add([self.state.current], pictures=True)
        self.state.show(self._picture_view)

    def _picture_view(self) -> Body:
        """Return the lines of the pictures of the mistakes; until they are made, a line on the state of the check."""
        known = self.state.known_outcome()
        if known is None or known.pictures is None:
            return self.state.view_without_verdict()
        from grader.rendering.picture_text import pictures_as_lines

        return [((self.state.current.file, "bold"),), (), *pictures_as_lines(known.pictures, report_width())]

    def _lesson(self) -> None:
        """Show the lesson of the unit on the screen."""
        text = lesson.lesson_text(self.state.course, self.state.current.unit)
        self.lesson = lesson.in_terminal(text)
        self.state.show(self._lesson_view)

    def _lesson_view(self) -> Body:
        """Return the lesson that `_lesson` has read."""
        return self.lesson

    def _solution(self) -> None:
        """Show the worked solution beside the learner's, if that passes."""
        if self.state.result().status != "passed":
            self.state.say(f"{self.state.current.file} does not pass yet; h gives a hint.")
        else:
            self.state.show(self._compared_with_worked_solution)

    def _compared_with_worked_solution(self) -> Body:
        """Return the differences between the learner's file and the worked solution."""
        from grader.authoring.build import worked_text  # imports what reads solutions only when it is needed

        exercise = self.state.current
        return list(differences(exercise.path.read_text(encoding="utf-8", errors="replace"), worked_text(exercise)))

    def _ask_to_reset(self) -> None:
        """Ask whether to put the stub back; the answer goes to `_reset`."""
        text = f"Put the stub of {self.state.current.file} back? What you wrote is kept as a backup.  y/n"
        self.state.prompt = Prompt(text, self._reset)

    def _reset(self, key: str) -> None:
        """Put the stub of the exercise back, with a backup of the file, if the pressed key says yes.

        What is known of the exercise, such as its result and the hints seen, is then forgotten.
        """
        if key.lower() in ("y", "yes"):
            backup = workspace.reset(self.state.current)
            self.state.session.progress.forget(self.state.current)
            self.state.outcomes.pop(self.state.current.id, None)
            self.state.go(self.state.current)
            if backup is not None:
                self.state.say(f"What was there is in {backup.relative_to(self.state.course.root)}.", "dim")


class WatchState:
    """The state of watch mode: the exercise on the screen, the view of it, and the outcomes of this run.

    Args:
        session: the course and the learner's progress.
        checks: check the files.
        screen: shows the current view.

    Attributes:
        outcomes: the last outcome for each exercise checked in this run, by its id.
        marked: the verdicts of the check in progress, while mistakes are being looked for; or of an earlier one.
        is_first: whether this is the learner's first session, in which nothing is saved yet.
        current: the exercise on the screen.
        view: returns the text on the screen.
        message: what has just happened, below that text.
        prompt: the question that waits for an answer; `None` if there is none.
    """

    def __init__(self, session: Session, checks: Checks, screen: Screen) -> None:
        """Begin with the next exercise that is not solved, the first one if all are, and no message."""
        self.session, self.course, self.checks, self.screen = session, session.course, checks, screen
        self.outcomes: dict[str, CheckOutcome] = {}
        self.marked: ExerciseResult | None = None
        self.is_first = not session.progress.exercises
        self.current = next_exercise(session.progress, self.course.exercises) or self.course.exercises[0]
        self.view: View = self.report
        self.message: list[Line] = []
        self.prompt: Prompt | None = None

    def go(self, exercise: CourseExercise) -> None:
        """Put an exercise on the screen, and check it unless its file has been checked in this run and is unchanged."""
        self.current = exercise
        self.show(self.report)
        if self.known_outcome() is None and not self.checks.is_pending(exercise):
            _ = exercise.declaration  # raises its error before the check begins
            self.checks.add([exercise])

    def check(self, exercises: list[CourseExercise]) -> None:
        """Check these exercises, which have just been saved, and put the first of them on the screen.

        An open prompt is closed. Nothing changes for no exercises.
        """
        if exercises:
            self.is_first = False  # the editor is open
            self.checks.add(exercises)
            self.current, self.prompt, self.message = exercises[0], None, []
            self.show(self.report)

    def record(self, outcome: CheckOutcome) -> None:
        """Record what a check reports.

        That is its result, or, while mistakes are searched for, verdicts, which are only shown. What is reported of an
        earlier content of the file is ignored. The progress is saved when no further check waits.

        Raises:
            UsageError: the exercise could not be checked.
        """
        if not outcome.is_final:
            self.marked = outcome.result if self.checks.is_of_running_check(outcome) else None
        elif self.checks.finish(outcome):
            exercise = outcome.request.exercise
            if outcome.result is None:
                raise UsageError(outcome.error)
            self.outcomes[exercise.id] = outcome
            self.session.progress.record(exercise, outcome.result)
            if self.checks.is_idle:
                self.session.progress.save()

    def known_outcome(self) -> CheckOutcome | None:
        """Return the outcome for the exercise on the screen; `None` if its file has changed, or was not checked."""
        known = self.outcomes.get(self.current.id)
        is_current = known is not None and known.result and known.result.made_from == file_hash(self.current.path)
        return known if is_current else None

    def result(self) -> ExerciseResult:
        """Return the verdicts on the exercise on the screen.

        Raises:
            UsageError: the exercise's file is not checked yet.
        """
        known = self.known_outcome()
        if known is None or known.result is None or self.checks.is_pending(self.current):
            raise UsageError(f"{self.current.file} is not checked yet.")
        return known.result

    def say(self, text: str, style: Style = "") -> None:
        """Add a sentence to the message below the text on the screen."""
        self.message += wrapped(text, report_width(), "", style, indent=0)

    def show(self, view: View) -> None:
        """Show a view from its first line."""
        self.view = view
        self.screen.begin()

    def report(self) -> Body:
        """Return the view with the verdicts on the exercise, or a line that says that there are none.

        While mistakes are searched for, the view says which answers are right.
        """
        known = self.known_outcome()
        if self.checks.is_pending(self.current):
            if (marked := self._marks_of_current_file()) is None:
                return self.view_without_verdict()
            return list(
                exercise_report(self.current, awaiting_mistakes(marked), report_width(), {}, step=lambda *_: "")
            )
        if known is None or known.result is None:
            return self.view_without_verdict()
        return list(report_lines(self.session, self.current, known.result, self.is_first))

    def _marks_of_current_file(self) -> ExerciseResult | None:
        """Return the verdicts, still without names of mistakes, on the current content of the file on the screen.

        `None` if there are none yet.
        """
        marked = self.marked
        is_here = marked is not None and marked.id == self.current.id
        return marked if is_here and marked is not None and marked.made_from == file_hash(self.current.path) else None

    def view_without_verdict(self) -> Body:
        """Return the view of an exercise that has no verdict: one line with its file.

        The line says that the file is being checked or, if no check is pending, that Enter checks it.
        """
        state = "is being checked ..." if self.checks.is_pending(self.current) else "is not checked; Enter checks it"
        return [((self.current.file, "bold"), (f"  {state}", "todo"))]


@dataclass
class Prompt:
    """A question on the screen, and the answer typed so far.

    Args:
        text: the question.
        on_answer: called with the answer; it is empty if the learner pressed Escape.
        is_word: whether the answer is a word, ended with Enter; otherwise it is a single key.
        typed: the answer so far.
    """

    text: str
    on_answer: Callable[[str], None]
    is_word: bool = False
    typed: str = ""

    def press(self, key: str, *, whole_lines: bool) -> bool:
        """Add a key to the answer; return whether the answer is complete.

        Escape completes it, too, and empties it. A key with a name, such as an arrow, adds nothing; but any key
        completes an answer of a single key.

        Args:
            key: a key as `keyboard` reports it; a line if `whole_lines` is true.
            whole_lines: whether whole lines are typed.
        """
        if key in (ENTER, ESCAPE):
            self.typed = self.typed if key == ENTER else ""
            return True
        if key == BACKSPACE:
            self.typed = self.typed[:-1]
        elif whole_lines or len(key) == 1:
            self.typed += key
        return whole_lines or not self.is_word


def awaiting_mistakes(result: ExerciseResult) -> ExerciseResult:
    """Return verdicts in which each answer with a mistake has the message that this is being looked for.

    Its code, hints and evidence are left out.
    """
    answers = (
        answer if answer.mistake is None else replace(answer, code=None, message=LOOKING, hints=(), evidence="")
        for answer in result.answers
    )
    return replace(result, answers=tuple(answers))


def report_lines(session: Session, exercise: CourseExercise, result: ExerciseResult, is_first: bool) -> Iterator[Line]:
    """Yield the report on an exercise: the verdicts, what its code printed, the progress so far, and the next step.

    Args:
        session: the course and the learner's progress.
        exercise: the exercise.
        result: the verdicts on it.
        is_first: whether this is the learner's first session, so that the first steps are explained.
    """
    progress, width = session.progress, report_width()
    hints_seen = {answer.name: progress.hints_seen(exercise, answer) for answer in result.answers}
    in_need = answer_in_need(result)
    name_in_need = "" if in_need is None else in_need.name
    yield from exercise_report(
        exercise, result, width, hints_seen,
        step=lambda exercise, answer, seen: next_key(exercise, answer, seen) if answer.name == name_in_need else "",
    )  # fmt: skip
    yield from printed_lines(result, width)
    if result.status == "todo" and not exercise.is_quiz and exercise.path.is_file():
        yield from first_steps(exercise, width, is_first)
    elif result.status == "passed":
        yield (("Solved. ", "good"), ("s", "bold"), (": the worked solution beside yours", ""))
    elif exercise.is_quiz:
        yield (("t", "bold"), (": answer it here, one question at a time", ""))
    yield ()
    units = by_unit(session.course, progress, [exercise.unit])
    yield from progress_bars([*units, whole_course(session.course, progress)], width)
    if result.status == "passed":
        yield next_exercise_line(session, exercise)
    yield from (((note, "todo"),) for note in progress.notes)


def next_key(exercise: CourseExercise, answer: AnswerResult, seen: int) -> str:
    """Return the next step after `seen` hints on an answer, in words: the key of the next hint, or another step."""
    return "next hint: h" if seen < len(answer.hints) else after_hint(exercise, answer, seen)


def unit_lines(session: Session, exercise: CourseExercise) -> Iterator[Line]:
    """Yield the progress of every unit, the next exercise, and the exercises of this exercise's unit."""
    units = by_unit(session.course, session.progress, [unit.id for unit in session.course.config.units])
    yield from progress_bars([*units, whole_course(session.course, session.progress)], report_width())
    yield next_exercise_line(session, exercise)
    yield ()
    of_unit = (other for other in session.course.exercises if other.unit == exercise.unit)
    yield from chain.from_iterable(exercise_lines(session, other) for other in of_unit)


def next_exercise_line(session: Session, exercise: CourseExercise) -> Line:
    """Return the line that names the next unsolved exercise and the key that goes there; or that all are solved."""
    following = next_unsolved(session, exercise)
    if following is None:
        return next_step(None)
    if following.is_quiz and following.unit == exercise.unit:
        return (("next: ", ""), ("t", "bold"), (", the quiz of this unit", ""))
    return (("next: ", ""), ("n", "bold"), (f", {following.file}", ""))


def next_unsolved(session: Session, exercise: CourseExercise) -> CourseExercise | None:
    """Return the next unsolved exercise after this one, or else the first of all; `None` if all are solved.

    An exercise marked `stretch`, or a quiz that was skipped, is returned only if there is no other.
    """
    exercises = session.course.exercises
    after = exercises.index(exercise) + 1
    return next_exercise(session.progress, [*exercises[after:], *exercises[:after]])


@contextlib.contextmanager
def signals(events: Events) -> Iterator[None]:
    """Put an event into the queue for each signal in the block: Ctrl-C, Ctrl-Z, its end, and a new terminal size."""
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

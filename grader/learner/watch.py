"""The command `handgrad` alone: watches the exercise files, checks each as it is saved, listens for single keys."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from grader.course import Course, CourseExercise
from grader.errors import HandgradError, UsageError
from grader.results import ExerciseResult
from grader.sandbox.worker import StoppableWorker, start_worker

from . import lesson, watch_views, workspace
from .console import drawn, print_lines, report_width, terminal
from .key_presses import ENDED, ENTER, Modes, keyboard
from .plain_mode import is_plain
from .progress import file_hash, next_exercise
from .quiz_session import QuizSession
from .quiz_terminal import take_quiz
from .render_text import Line, Style, answer_in_need, differences, hint_lines, key_legend, wrapped
from .screen import Body, DrawnScreen, PlainScreen, Screen
from .session import Session
from .watch_checks import Checked, Checks
from .watch_events import Event, Events, Happened, Key, saves, signals, suspend
from .watch_question import Question

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
    """What is on the screen, and what an event does to it. Nothing here takes long: checks run beside it.

    Args:
        session: the learner's sitting.
        worker: the session's; it stays warm.
    """

    def __init__(self, session: Session, worker: StoppableWorker, events: Events) -> None:
        self.session, self.course, self.events = session, session.course, events
        self.screen: Screen = PlainScreen() if is_plain() else DrawnScreen()
        self.checks = Checks(session, worker, events.put)
        self.seen: dict[str, Checked] = {}
        self.is_first = not session.progress.exercises
        self.current = next_exercise(session.progress, self.course.exercises) or self.course.exercises[0]
        self.view: Callable[[], Body] = self._report
        self.message: list[Line] = []
        self.question: Question | None = None
        self.quiz: CourseExercise | None = None
        self.commands: dict[str, tuple[str, Callable[[], None]]] = {
            "h": ("hint", self._hint), "n": ("next", self._next), "b": ("previous", self._previous),
            "g": ("go to", self._ask_where), "o": ("lesson", self._lesson), "t": ("quiz", self._quiz),
            "l": ("list", self._list), "a": ("all", self._all), "p": ("picture", self._picture),
            "s": ("solution", self._solution), "r": ("reset", self._ask_whether),
        }  # fmt: skip
        if is_plain():
            self._say("Type a letter, and Enter. A question mark says which letters there are.")

    def run(self) -> CourseExercise | None:
        """Until the learner quits, or asks for a quiz, which is returned."""
        self.quiz = None
        with signals(self.events), keyboard(lambda key: self.events.put(Key(key)), whole_lines=is_plain()) as modes:
            self.screen.clear()
            self._try(lambda: self._go(self.current))
            while self.quiz is None:
                event = self.events.get()
                if event == Key(ENDED) or (self.question is None and self._quits(event)):
                    break
                self._try(lambda: self._handle(event, modes))
        print()
        return self.quiz

    def _quits(self, event: Event) -> bool:
        return event in (Key("q"), Key("Q")) or (event is Happened.INTERRUPTED and self.checks.is_idle)

    def _try(self, act: Callable[[], None]) -> None:
        """Do something, say why where it cannot be done, and draw what has come of it."""
        try:
            act()
        except HandgradError as error:
            self._say(str(error), "bad")
        self._draw()

    def _handle(self, event: Event, modes: Modes) -> None:
        if isinstance(event, Checked):
            self._take(event)
        elif isinstance(event, Key):
            self._press(event.name)
        elif event is Happened.SAVED:
            self._check(self.checks.changed())
        elif event is Happened.INTERRUPTED:
            self._interrupt()
        elif event is Happened.SUSPENDED:
            modes.leave()
            suspend()
            self.events.put(Happened.CONTINUED)
        elif event is Happened.CONTINUED:
            modes.enter()
            self.screen.clear()
            self.checks.again()
            self._check(self.checks.changed())

    def _take(self, checked: Checked) -> None:
        """Remember a verdict that counts."""
        if self.checks.ended(checked):
            exercise = checked.asked.exercise
            if checked.result is None:
                raise UsageError(checked.error)
            self.seen[exercise.id] = checked
            self.session.progress.record(exercise, checked.result)
            if self.checks.is_idle:
                self.session.progress.save()

    def _interrupt(self) -> None:
        """Ctrl-C: leave the question on the screen, or else end what is running."""
        self.message = []
        if self.question is not None:
            self.question = None
        else:
            self.checks.clear()
            self.session.progress.save()
            self._say("The check was ended. Ctrl-C once more: quit.")

    def _check(self, exercises: list[CourseExercise]) -> None:
        """Check these, and put the first of them on the screen."""
        if exercises:
            self.is_first = False  # the editor is open
            self.checks.add(exercises)
            self.current, self.question, self.message = exercises[0], None, []
            self._show(self._report)

    def _go(self, exercise: CourseExercise) -> None:
        """Put an exercise on the screen; it is checked unless its verdict is known."""
        self.current = exercise
        self._show(self._report)
        if self._checked() is None and not self.checks.is_pending(exercise):
            _ = exercise.declaration  # what is wrong with it is said before its check begins
            self.checks.add([exercise])

    def _checked(self) -> Checked | None:
        """What was found in this sitting of the file on the screen as it is now."""
        known = self.seen.get(self.current.id)
        fits = known is not None and known.result and known.result.made_from == file_hash(self.current.path)
        return known if fits else None

    def _result(self) -> ExerciseResult:
        """The verdict on the file on the screen.

        Raises:
            UsageError: there is none yet.
        """
        known = self._checked()
        if known is None or known.result is None or self.checks.is_pending(self.current):
            raise UsageError(f"{self.current.file} is not checked yet.")
        return known.result

    def _press(self, key: str) -> None:
        self.message = []
        if self.question is not None:
            if self.question.press(key, whole_lines=is_plain()):
                question, self.question = self.question, None
                question.then(question.typed)
        elif not self.screen.turn(key):
            self._command(*key.split(maxsplit=1) or [key])

    def _command(self, key: str, rest: str = "") -> None:
        """What a key does; in plain mode, what a question will be answered with may follow it."""
        if key.lower() in self.commands:
            self.commands[key.lower()][1]()
            if rest and self.question is not None:
                self._press(rest)
        elif key == ENTER:
            self._go(self.current)
        elif key == "w" and self.view == self._lesson_view:
            self._say(lesson.open_in_browser(self.course, self.current.unit))
        elif is_plain():
            self.message = list(self._keys())

    def _hint(self) -> None:
        answer = answer_in_need(self._result())
        if answer is None or not answer.hints:
            self._say("There is nothing to hint at here.")
            return
        exercise, progress = self.current, self.session.progress
        seen = min(progress.hints_seen(exercise, answer) + 1, len(answer.hints))
        progress.record_hints_seen(exercise, answer, seen)
        progress.save()
        head: Line = ((f"{exercise.file}  {answer.name}", "bold"),)
        self._show(lambda: [head, *hint_lines(exercise, answer, report_width(), seen, watch_views.after_key)])

    def _next(self) -> None:
        following = watch_views.next_open(self.session, self.current)
        if following is None:
            self._say("Every exercise is solved.", "good")
        else:
            self._go(following)

    def _previous(self) -> None:
        before = self.course.exercises.index(self.current) - 1
        if before < 0:
            self._say("This is the first exercise.")
        else:
            self._go(self.course.exercises[before])

    def _ask_where(self) -> None:
        self.question = Question("Go to which exercise or unit?", self._go_to, is_word=True)

    def _go_to(self, name: str) -> None:
        if not name.strip():
            return
        wanted = lesson.unit_named(self.course, name) if name.isdigit() else name.strip()
        found = self.course.select([wanted])
        self._go(next_exercise(self.session.progress, found) or found[0])

    def _quiz(self) -> None:
        """Take the quiz of the unit on the screen.

        Raises:
            UsageError: it has none.
        """
        self.quiz = next((e for e in self.course.exercises if e.is_quiz and e.unit == self.current.unit), None)
        if self.quiz is None:
            raise UsageError(f"{self.current.unit} has no quiz.")

    def _list(self) -> None:
        self._show(lambda: list(watch_views.units(self.session, self.current)))

    def _all(self) -> None:
        self.checks.add(self.course.exercises)
        self._list()

    def _picture(self) -> None:
        """What is wrong, drawn; the file is checked once more for it."""
        if (known := self._checked()) is None or known.pictures is None:
            self.checks.add([self.current], pictures=True)
        self._show(self._picture_view)

    def _picture_view(self) -> Body:
        known = self._checked()
        if known is None or known.pictures is None:
            return self._unknown()
        return [((self.current.file, "bold"),), (), *drawn(known.pictures, report_width())]

    def _lesson(self) -> None:
        text = lesson.lesson_text(self.course, self.current.unit)
        self.lesson_shown = lesson.in_terminal(text)
        self._show(self._lesson_view)

    def _solution(self) -> None:
        if self._result().status != "passed":
            self._say(f"{self.current.file} does not pass yet; h gives a hint.")
        else:
            self._show(lambda: list(differences(self.current)))

    def _ask_whether(self) -> None:
        says = f"Put the stub of {self.current.file} back? What you wrote is kept as a backup.  y/n"
        self.question = Question(says, self._reset)

    def _reset(self, key: str) -> None:
        if key.lower() in ("y", "yes"):
            backup = workspace.reset(self.current)
            self.session.progress.forget(self.current)
            self.seen.pop(self.current.id, None)
            self._go(self.current)
            if backup is not None:
                self._say(f"What was there is in {backup.relative_to(self.course.root)}.", "dim")

    def _report(self) -> Body:
        known = self._checked()
        if known is None or known.result is None or self.checks.is_pending(self.current):
            return self._unknown()
        return list(watch_views.report(self.session, self.current, known.result, self.is_first))

    def _unknown(self) -> Body:
        """What there is to say of a file without a verdict."""
        view = watch_views.pending if self.checks.is_pending(self.current) else watch_views.unchecked
        return list(view(self.current))

    def _lesson_view(self) -> Body:
        return self.lesson_shown

    def _say(self, text: str, style: Style = "") -> None:
        """What has just happened, below what is on the screen."""
        self.message += wrapped(text, report_width(), "", style, indent=0)

    def _show(self, view: Callable[[], Body]) -> None:
        self.view = view
        self.screen.begin()

    def _draw(self) -> None:
        message = [*self.message, *self._under_way()]
        if self.question is not None:
            message += wrapped(f"{self.question.prompt} {self.question.typed}", report_width(), "", "bold", indent=0)
        self.screen.show(self.view(), message, list(self._keys()), self.current)

    def _under_way(self) -> list[Line]:
        """What is being checked, where nothing is drawn over but a window."""
        if self.checks.is_idle or is_plain():
            return []
        running, more = self.checks.running, len(self.checks.waiting)
        what = f"checking {running.exercise.file}" if running else "checking"
        return [((f"{what}{f', and {more} more' if more else ''}   Ctrl-C", "todo"), (": end it", ""))]

    def _keys(self) -> Iterator[Line]:
        keys = [*((key, word) for key, (word, _) in self.commands.items()), ("q", "quit")]
        elsewhere = [("Enter", "back")] if self.view != self._report else []
        browser = [("w", "lesson in the browser, with its pictures")] if self.view == self._lesson_view else []
        yield from key_legend([*keys, *elsewhere, *browser], report_width())

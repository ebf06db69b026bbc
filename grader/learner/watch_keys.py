"""What the keys of a watch do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from grader.course.course import CourseExercise
from grader.errors import UsageError
from grader.rendering.console import is_plain, pictures_as_lines, report_width
from grader.rendering.render_text import Line, answer_in_need, differences, hint_lines, key_legend

from . import lesson, watch_views, workspace
from .key_presses import ENTER
from .progress import next_exercise
from .screen import Body
from .watch_question import Question
from .watched import Watched


class Keys:
    """The keys, each with a word for what it does.

    Args:
        watched: what they act on.
    """

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.quiz: CourseExercise | None = None  # to be taken now
        self.lesson: Body = ()
        self.commands: dict[str, tuple[str, Callable[[], None]]] = {
            "h": ("hint", self._hint), "n": ("next", self._next), "b": ("previous", self._previous),
            "g": ("go to", self._ask_where), "o": ("lesson", self._lesson), "t": ("quiz", self._quiz),
            "l": ("list", self._list), "a": ("check all", self._all), "p": ("picture", self._picture),
            "s": ("solution", self._solution), "r": ("reset", self._ask_whether),
        }  # fmt: skip

    def legend(self) -> Iterator[Line]:
        """What can be pressed on the screen as it is."""
        keys = [*((key, word) for key, (word, _) in self.commands.items()), ("q", "quit")]
        elsewhere = [("Enter", "back")] if self.watched.view != self.watched.report else []
        browser = [("w", "lesson in the browser, with its pictures")] if self.watched.view == self._lesson_view else []
        yield from key_legend([*keys, *elsewhere, *browser], report_width())

    def press(self, key: str) -> None:
        """Do what a key does, or in plain mode what a line asks for."""
        self.watched.message = []
        if self.watched.question is not None:
            if self.watched.question.press(key, whole_lines=is_plain()):
                question, self.watched.question = self.watched.question, None
                question.then(question.typed)
        elif not self.watched.screen.turn(key):
            self._command(*key.split(maxsplit=1) or [key])

    def _command(self, key: str, rest: str = "") -> None:
        """What a key does; in plain mode, what a question will be answered with may follow it."""
        if key.lower() in self.commands:
            self.commands[key.lower()][1]()
            if rest and self.watched.question is not None:
                self.press(rest)
        elif key == ENTER:
            self.watched.go(self.watched.current)
        elif key == "w" and self.watched.view == self._lesson_view:
            self.watched.say(lesson.open_in_browser(self.watched.course, self.watched.current.unit))
        elif is_plain():
            self.watched.message = list(self.legend())

    def _hint(self) -> None:
        answer = answer_in_need(self.watched.result())
        if answer is None or not answer.hints:
            self.watched.say("There is nothing to hint at here.")
            return
        exercise, progress = self.watched.current, self.watched.session.progress
        seen = min(progress.hints_seen(exercise, answer) + 1, len(answer.hints))
        progress.record_hints_seen(exercise, answer, seen)
        progress.save()
        head: Line = ((f"{exercise.file}  {answer.name}", "bold"),)
        self.watched.show(lambda: [head, *hint_lines(exercise, answer, report_width(), seen, watch_views.after_key)])

    def _next(self) -> None:
        following = watch_views.next_open(self.watched.session, self.watched.current)
        if following is None:
            self.watched.say("Every exercise is solved.", "good")
        else:
            self.watched.go(following)

    def _previous(self) -> None:
        before = self.watched.course.exercises.index(self.watched.current) - 1
        if before < 0:
            self.watched.say("This is the first exercise.")
        else:
            self.watched.go(self.watched.course.exercises[before])

    def _ask_where(self) -> None:
        self.watched.question = Question("Go to which exercise or unit?", self._go_to, is_word=True)

    def _go_to(self, name: str) -> None:
        if not name.strip():
            return
        wanted = lesson.unit_named(self.watched.course, name) if name.isdigit() else name.strip()
        found = self.watched.course.select([wanted])
        self.watched.go(next_exercise(self.watched.session.progress, found) or found[0])

    def _quiz(self) -> None:
        """Take the quiz of the unit on the screen.

        Raises:
            UsageError: it has none.
        """
        unit, every = self.watched.current.unit, self.watched.course.exercises
        self.quiz = next((each for each in every if each.is_quiz and each.unit == unit), None)
        if self.quiz is None:
            raise UsageError(f"{unit} has no quiz.")

    def _list(self) -> None:
        self.watched.show(lambda: list(watch_views.units(self.watched.session, self.watched.current)))

    def _all(self) -> None:
        self.watched.checks.add(self.watched.course.exercises)
        self._list()
        self.watched.say("Every exercise is checked, one after the other, and the list counts them. Ctrl-C ends that.")

    def _picture(self) -> None:
        """What is wrong, drawn; the file is checked once more for it."""
        if (known := self.watched.checked()) is None or known.pictures is None:
            self.watched.checks.add([self.watched.current], pictures=True)
        self.watched.show(self._picture_view)

    def _picture_view(self) -> Body:
        known = self.watched.checked()
        if known is None or known.pictures is None:
            return self.watched.unknown()
        return [((self.watched.current.file, "bold"),), (), *pictures_as_lines(known.pictures, report_width())]

    def _lesson(self) -> None:
        text = lesson.lesson_text(self.watched.course, self.watched.current.unit)
        self.lesson = lesson.in_terminal(text)
        self.watched.show(self._lesson_view)

    def _lesson_view(self) -> Body:
        return self.lesson

    def _solution(self) -> None:
        if self.watched.result().status != "passed":
            self.watched.say(f"{self.watched.current.file} does not pass yet; h gives a hint.")
        else:
            self.watched.show(self._compared_with_worked_solution)

    def _compared_with_worked_solution(self) -> Body:
        from grader.authoring.build import worked_text  # what reads solutions is not needed before

        exercise = self.watched.current
        return list(differences(exercise.path.read_text(encoding="utf-8", errors="replace"), worked_text(exercise)))

    def _ask_whether(self) -> None:
        says = f"Put the stub of {self.watched.current.file} back? What you wrote is kept as a backup.  y/n"
        self.watched.question = Question(says, self._reset)

    def _reset(self, key: str) -> None:
        if key.lower() in ("y", "yes"):
            backup = workspace.reset(self.watched.current)
            self.watched.session.progress.forget(self.watched.current)
            self.watched.seen.pop(self.watched.current.id, None)
            self.watched.go(self.watched.current)
            if backup is not None:
                self.watched.say(f"What was there is in {backup.relative_to(self.watched.course.root)}.", "dim")

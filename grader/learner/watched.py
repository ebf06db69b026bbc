"""What a watch knows: the exercise on the screen, what was found in this sitting, and what is being shown of it."""

from __future__ import annotations

from collections.abc import Callable

from grader.course.course import CourseExercise
from grader.errors import UsageError
from grader.rendering.console import report_width
from grader.rendering.render_text import Line, Style, wrapped
from grader.results.records import ExerciseResult

from . import watch_views
from .progress import file_hash, next_exercise
from .screen import Body, Screen
from .session import Session
from .watch_checks import Checked, Checks
from .watch_question import Question

View = Callable[[], Body]


class Watched:
    """A learner's sitting, as far as it is on the screen.

    Args:
        session: the course, and what is remembered of it.
        checks: where files are checked.
        screen: shows `view`.
    """

    def __init__(self, session: Session, checks: Checks, screen: Screen) -> None:
        self.session, self.course, self.checks, self.screen = session, session.course, checks, screen
        self.seen: dict[str, Checked] = {}
        self.is_first = not session.progress.exercises
        self.current = next_exercise(session.progress, self.course.exercises) or self.course.exercises[0]
        self.view: View = self.report
        self.message: list[Line] = []
        self.question: Question | None = None

    def go(self, exercise: CourseExercise) -> None:
        """Put an exercise on the screen; it is checked unless its verdict is known."""
        self.current = exercise
        self.show(self.report)
        if self.checked() is None and not self.checks.is_pending(exercise):
            _ = exercise.declaration  # what is wrong with it is said before its check begins
            self.checks.add([exercise])

    def check(self, exercises: list[CourseExercise]) -> None:
        """Check these, and put the first of them on the screen."""
        if exercises:
            self.is_first = False  # the editor is open
            self.checks.add(exercises)
            self.current, self.question, self.message = exercises[0], None, []
            self.show(self.report)

    def take(self, checked: Checked) -> None:
        """Remember a verdict that counts."""
        if self.checks.ended(checked):
            exercise = checked.asked.exercise
            if checked.result is None:
                raise UsageError(checked.error)
            self.seen[exercise.id] = checked
            self.session.progress.record(exercise, checked.result)
            if self.checks.is_idle:
                self.session.progress.save()

    def checked(self) -> Checked | None:
        """What was found in this sitting of the file on the screen as it is now."""
        known = self.seen.get(self.current.id)
        fits = known is not None and known.result and known.result.made_from == file_hash(self.current.path)
        return known if fits else None

    def result(self) -> ExerciseResult:
        """The verdict on the file on the screen.

        Raises:
            UsageError: there is none yet.
        """
        known = self.checked()
        if known is None or known.result is None or self.checks.is_pending(self.current):
            raise UsageError(f"{self.current.file} is not checked yet.")
        return known.result

    def say(self, text: str, style: Style = "") -> None:
        """What has just happened, below what is on the screen."""
        self.message += wrapped(text, report_width(), "", style, indent=0)

    def show(self, view: Callable[[], Body]) -> None:
        self.view = view
        self.screen.begin()

    def report(self) -> Body:
        known = self.checked()
        if known is None or known.result is None or self.checks.is_pending(self.current):
            return self.unknown()
        return list(watch_views.report(self.session, self.current, known.result, self.is_first))

    def unknown(self) -> Body:
        """What there is to say of a file without a verdict."""
        view = watch_views.pending if self.checks.is_pending(self.current) else watch_views.unchecked
        return list(view(self.current))

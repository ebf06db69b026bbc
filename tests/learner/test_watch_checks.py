"""The checks of a watch: one at a time, the newest first, and no verdict on bytes that are no longer there."""

from __future__ import annotations

import queue
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from grader.course.course import Course, CourseExercise
from grader.errors import SpecError
from grader.judging.judge import OnVerdicts
from grader.learner.progress import Progress
from grader.learner.session import Session
from grader.learner.watch import LOOKING, WatchState
from grader.learner.watch_checks import CheckOutcome, Checks
from grader.learner.watch_terminal import PlainScreen
from grader.rendering.picture_data import ExercisePictures
from grader.results.records import AnswerResult, ExerciseResult
from grader.sandbox.worker import Worker

PATIENCE = 60.0


class Judge:
    """A session whose checks take as long as the test wants, and whose worker notes when it is stopped.

    Args:
        course: the course.
    """

    def __init__(self, course: Course) -> None:
        self.course = course
        self.begun: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.gates: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.stops = 0
        self.answers: tuple[AnswerResult, ...] = ()  # of every exercise
        self.progress = Progress.load(course.root)

    def check(self, exercise: CourseExercise, on_verdicts: OnVerdicts | None = None) -> ExerciseResult:
        content = exercise.path.read_bytes()
        result = ExerciseResult(exercise.id, exercise.unit, self.answers).with_hash_of(content)
        if on_verdicts is not None and any(answer.mistake is not None for answer in self.answers):
            on_verdicts(result)
        self.begun.put(exercise.id)
        if not self.gates.get(timeout=PATIENCE):
            raise SpecError("its declaration is broken")
        return result

    def check_with_pictures(self, exercise: CourseExercise) -> tuple[ExerciseResult, ExercisePictures]:
        return self.check(exercise), ExercisePictures(exercise.id)

    def stop(self) -> None:
        self.stops += 1
        self.gates.put(True)

    def resume(self) -> None: ...


class Sitting:
    """Checks that are driven step by step."""

    def __init__(self, course: Course) -> None:
        self.judge = Judge(course)
        self.events: queue.SimpleQueue[CheckOutcome] = queue.SimpleQueue()
        self.checks = Checks(cast(Session, self.judge), cast(Worker, self.judge), self.events.put)

    def begun(self) -> str:
        """The exercise whose check has begun."""
        return self.judge.begun.get(timeout=PATIENCE)

    def end(self, *, well: bool = True) -> tuple[str, bool]:
        """Let the check that runs come to its end; which it was, and whether it counts."""
        self.judge.gates.put(well)
        return self.take()

    def take(self) -> tuple[str, bool]:
        checked = self.events.get(timeout=PATIENCE)
        return checked.request.exercise.id, self.checks.finish(checked)


@pytest.fixture
def course(tmp_path: Path, new_workspace: Callable[..., Course]) -> Course:
    return new_workspace(tmp_path / "ws", before="05_activations")


@pytest.fixture
def sitting(course: Course) -> Sitting:
    return Sitting(course)


def test_one_after_the_other_in_the_order_asked_for(sitting: Sitting, course: Course) -> None:
    sitting.checks.add([course.find("slope"), course.find("lin_grad")])
    assert sitting.begun() == "slope"
    assert sitting.checks.is_pending(course.find("lin_grad"))
    assert sitting.end() == ("slope", True)
    assert not sitting.checks.is_pending(course.find("slope"))
    assert sitting.begun() == "lin_grad"
    assert sitting.end() == ("lin_grad", True)
    assert sitting.checks.is_idle


def test_a_newer_save_ends_the_check_and_begins_its_own(sitting: Sitting, course: Course) -> None:
    slope = course.find("slope")
    sitting.checks.add([slope])
    sitting.begun()
    slope.path.write_text("newer")
    assert sitting.checks.changed(slope) == [slope]
    sitting.checks.add([slope])
    assert sitting.judge.stops == 1
    assert sitting.checks.changed(slope) == []
    assert sitting.take() == ("slope", False)
    assert sitting.begun() == "slope"
    assert sitting.end() == ("slope", True)
    assert sitting.checks.is_idle


def test_a_verdict_that_comes_before_word_of_the_save_does_not_count(sitting: Sitting, course: Course) -> None:
    """The check is over when the file is found to be another: it is checked again, and the save is no news then."""
    slope = course.find("slope")
    sitting.checks.add([slope])
    sitting.begun()
    slope.path.write_text("newer")
    assert sitting.end() == ("slope", False)
    assert sitting.begun() == "slope"
    assert sitting.checks.changed(slope) == []
    assert sitting.end() == ("slope", True)


ANSWERS = (
    AnswerResult("inp.g", "passed", 1, 1),
    AnswerResult("w.g", "failed", 0, 1, "mean-for-sum", "every entry is 1/7", mistake={}),
    AnswerResult("b.g", "todo", 0, 1, "todo", "not attempted yet"),
)


def test_what_is_right_is_shown_before_the_mistake_is_found(sitting: Sitting, course: Course) -> None:
    """And what is wrong, without a name; not on a file that was saved again, and not once the check is stopped."""
    sitting.judge.answers = ANSWERS
    state = WatchState(cast(Session, sitting.judge), sitting.checks, PlainScreen())
    state.current = course.find("lin_grad")

    def shown() -> str:
        return "\n".join("".join(text for text, _ in line) for line in state.report())

    sitting.checks.add([state.current])
    sitting.begun()
    assert "is being checked" in shown()
    first = sitting.events.get(timeout=PATIENCE)
    state.record(first)
    assert "inp.g  ok" in shown()
    assert f"w.g    {LOOKING}" in shown()
    assert "b.g    not attempted yet" in shown()
    assert "1/7" not in shown()
    sitting.judge.gates.put(True)
    state.record(sitting.events.get(timeout=PATIENCE))
    assert "w.g    every entry is 1/7  [mean-for-sum]" in shown()
    state.current.path.write_text("newer")
    sitting.checks.add([state.current])
    assert "is being checked" in shown()
    sitting.checks.clear()
    state.record(sitting.events.get(timeout=PATIENCE))
    assert "is not checked" in shown()
    sitting.checks.close()


def test_a_save_of_another_file_comes_first_and_the_one_that_ran_comes_again(sitting: Sitting, course: Course) -> None:
    slope, other = course.find("slope"), course.find("lin_grad")
    sitting.checks.add([slope])
    sitting.begun()
    sitting.checks.add([other])
    assert sitting.take() == ("slope", False)
    assert (sitting.begun(), sitting.end()) == ("lin_grad", ("lin_grad", True))
    assert (sitting.begun(), sitting.end()) == ("slope", ("slope", True))
    assert sitting.checks.is_idle


def test_what_is_cleared_gives_no_verdict_and_nothing_comes_after(sitting: Sitting, course: Course) -> None:
    sitting.checks.add([course.find("slope"), course.find("lin_grad")])
    sitting.begun()
    sitting.checks.clear()
    assert sitting.checks.is_idle
    assert not sitting.checks.is_pending(course.find("slope"))
    assert sitting.take() == ("slope", False)
    assert sitting.judge.begun.empty()


def test_what_is_asked_for_while_a_check_is_being_ended_begins_after_it(sitting: Sitting, course: Course) -> None:
    slope = course.find("slope")
    sitting.checks.add([slope])
    sitting.begun()
    sitting.checks.clear()
    sitting.checks.add([slope], pictures=True)
    assert sitting.take() == ("slope", False)
    assert sitting.begun() == "slope"
    sitting.judge.gates.put(True)
    checked = sitting.events.get(timeout=PATIENCE)
    assert sitting.checks.finish(checked)
    assert checked.pictures is not None


def test_a_file_saved_before_anybody_listened_is_found(course: Course) -> None:
    slope = course.find("slope")
    sitting = Sitting(course)
    assert sitting.checks.changed(slope) == []
    slope.path.write_text("newer")
    assert sitting.checks.changed(slope) == [slope]
    slope.path.unlink()
    assert sitting.checks.changed(slope) == [slope]


def test_changed_exercises_are_in_teaching_order_also_the_one_whose_imports_changed(course: Course) -> None:
    slope, later = course.find("slope"), course.exercises[-1]
    sitting = Sitting(course)
    assert sitting.checks.changed(slope) == []
    later.path.write_text("newer")
    (slope.path.parent / "helpers.py").write_text("a new file")
    assert sitting.checks.changed(slope) == [slope, later]


def test_an_exercise_that_cannot_be_checked_is_told_and_does_not_stop_the_next(
    sitting: Sitting, course: Course
) -> None:
    sitting.checks.add([course.find("slope"), course.find("lin_grad")])
    sitting.begun()
    sitting.judge.gates.put(False)
    checked = sitting.events.get(timeout=PATIENCE)
    assert (checked.error, checked.result) == ("its declaration is broken", None)
    assert sitting.checks.finish(checked)
    assert (sitting.begun(), sitting.end()) == ("lin_grad", ("lin_grad", True))


def test_closing_waits_for_the_check_that_runs(sitting: Sitting, course: Course) -> None:
    sitting.checks.add([course.find("slope"), course.find("lin_grad")])
    sitting.begun()
    sitting.checks.close()
    assert sitting.events.get(timeout=PATIENCE).request.exercise.id == "slope"
    assert sitting.judge.begun.empty()

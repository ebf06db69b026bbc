"""What is remembered between runs: verdicts for as long as the file is the same, hints while the mistake is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.course import Course, CourseExercise, load_course
from grader.learner.progress import Progress, UnitProgress, by_unit, next_exercise, whole_course
from grader.results.records import AnswerResult, ExerciseResult


@pytest.fixture
def course(tmp_path: Path, new_workspace: Callable[..., Course]) -> Course:
    return new_workspace(tmp_path / "ws", before="05_activations")


@pytest.fixture
def lin_grad(course: Course) -> CourseExercise:
    return course.find("lin_grad")


def verdict(exercise: CourseExercise, *codes: str | None) -> ExerciseResult:
    """A result with these codes, `None` for a pass, in the order of the answers."""
    answers = [
        AnswerResult(
            answer.name,
            "passed" if code is None else "todo" if code == "todo" else "failed",
            float(code is None),
            1.0,
            code,
            "a fact",
            hints=() if code is None else ("one", "two", "three"),
        )
        for answer, code in zip(exercise.declaration.answers, codes, strict=True)
    ]
    return ExerciseResult(exercise.id, exercise.unit, tuple(answers)).with_hash_of(exercise.path.read_bytes())


def solved(exercise: CourseExercise) -> ExerciseResult:
    return verdict(exercise, *[None] * len(exercise.declaration.answers))


def reopened_with_entry(progress: Progress, course: Course, name: str, entry: dict[str, object]) -> Progress:
    """Save the progress, replace keys of one exercise's entry in the file by others, and load it again.

    A value "HASH" of the new entry stands for the hash that the file had.
    """
    progress.save()
    state = json.loads(progress.path.read_text())
    known = state["exercises"][name]["hash"]
    state["exercises"][name] = {key: known if value == "HASH" else value for key, value in entry.items()}
    progress.path.write_text(json.dumps(state))
    return Progress.load(course.root)


def reopened(progress: Progress, course: Course) -> Progress:
    progress.save()
    return Progress.load(course.root)


def test_a_new_workspace_remembers_nothing_and_complains_of_nothing(course: Course) -> None:
    progress = Progress.load(course.root)
    assert progress.exercises == {}
    assert progress.notes == []


def test_a_verdict_is_remembered(course: Course, lin_grad: CourseExercise) -> None:
    progress = Progress.load(course.root)
    progress.record(lin_grad, verdict(lin_grad, None, "mean-for-sum", "todo"))
    assert reopened(progress, course).result(lin_grad) == verdict(lin_grad, None, "mean-for-sum", "todo")


def test_a_verdict_is_forgotten_when_the_file_changes_and_known_again_when_it_is_put_back(
    course: Course, lin_grad: CourseExercise
) -> None:
    progress = Progress.load(course.root)
    progress.record(lin_grad, solved(lin_grad))
    before = lin_grad.path.read_text()
    lin_grad.path.write_text(before + "# one more line\n")
    assert progress.result(lin_grad) is None
    lin_grad.path.write_text(before)
    assert progress.result(lin_grad) is not None


def test_a_verdict_is_forgotten_when_the_file_is_deleted(course: Course, lin_grad: CourseExercise) -> None:
    progress = Progress.load(course.root)
    progress.record(lin_grad, solved(lin_grad))
    lin_grad.path.unlink()
    assert progress.result(lin_grad) is None


def test_a_failure_comes_with_its_first_hint_and_a_todo_with_none(course: Course, lin_grad: CourseExercise) -> None:
    progress = Progress.load(course.root)
    _, failed, todo = verdict(lin_grad, None, "mean-for-sum", "todo").answers
    assert progress.hints_seen(lin_grad, failed) == 1
    assert progress.hints_seen(lin_grad, todo) == 0


def test_hints_seen_are_remembered_as_long_as_the_mistake_is_the_same(course: Course, lin_grad: CourseExercise) -> None:
    progress = Progress.load(course.root)
    result = verdict(lin_grad, None, "mean-for-sum", "todo")
    progress.record(lin_grad, result)
    progress.record_hints_seen(lin_grad, result.answers[1], 3)
    lin_grad.path.write_text(lin_grad.path.read_text() + "# edited\n")
    progress.record(lin_grad, result)
    assert reopened(progress, course).hints_seen(lin_grad, result.answers[1]) == 3


def test_hints_seen_are_forgotten_when_the_mistake_changes(course: Course, lin_grad: CourseExercise) -> None:
    progress = Progress.load(course.root)
    result = verdict(lin_grad, None, "mean-for-sum", "todo")
    progress.record(lin_grad, result)
    progress.record_hints_seen(lin_grad, result.answers[1], 3)
    other = verdict(lin_grad, None, "transposed", "todo")
    assert progress.hints_seen(lin_grad, other.answers[1]) == 1
    progress.record(lin_grad, other)
    progress.record(lin_grad, result)
    assert reopened(progress, course).hints_seen(lin_grad, result.answers[1]) == 1


def test_forgetting_one_exercise_keeps_the_others(course: Course, lin_grad: CourseExercise) -> None:
    progress, slope = Progress.load(course.root), course.find("slope")
    progress.record(lin_grad, solved(lin_grad))
    progress.record(slope, solved(slope))
    progress.forget(lin_grad)
    progress.forget(lin_grad)
    assert progress.result(lin_grad) is None
    assert progress.result(slope) == solved(slope)


BROKEN = {
    "half a file": '{"version": 1, "exer',
    "empty": "",
    "another version": '{"version": 2, "exercises": {}}',
    "no version": '{"exercises": {}}',
    "a list": "[1, 2]",
    "exercises is a list": '{"version": 1, "exercises": [1]}',
    "not text": "\x00\x01",
    "null": "null",
    "without end": "[" * 100_000,
    "version is a list": '{"version": [], "exercises": {}}',
    "half a character": '{"version": 1, "exercises": {}, "met": {"\\ud800": {"lin_grad": 1}}}',
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_state_file_that_cannot_be_used_is_set_aside_and_said(course: Course, content: str) -> None:
    state = course.root / ".handgrad/progress.json"
    state.parent.mkdir()
    state.write_text(content)
    progress = Progress.load(course.root)
    assert progress.exercises == {}
    assert len(progress.notes) == 1
    assert "kept as progress.broken.json" in progress.notes[0]
    assert state.with_name("progress.broken.json").read_text() == content
    assert reopened(progress, course).notes == []


@pytest.mark.parametrize(
    "entry",
    [
        {"hash": "HASH", "result": None, "hints": {}},
        {"hash": "HASH", "result": {"id": "lin_grad"}, "hints": {}},
        {"hash": "HASH", "result": [], "hints": {}},
        {"hash": "HASH", "result": {"id": "lin_grad", "unit": "04_linear", "answers": [{"name": 1}]}, "hints": {}},
        {"hash": "HASH", "result": None, "hints": []},
        {"hash": "HASH", "result": None, "hints": {"w.g": 3}},
        {"hash": "HASH", "result": None, "hints": {"w.g": {"code": "mean-for-sum", "seen": "many"}}},
        {"hash": "HASH", "result": None, "hints": None},
        {},
    ],
    ids=[
        "no result", "half a result", "result is a list", "half an answer", "hints is a list", "hint is a number",
        "seen is a word", "hints is null", "empty",
    ],
)  # fmt: skip
def test_a_damaged_entry_costs_that_entry_and_nothing_else(
    course: Course, lin_grad: CourseExercise, entry: dict[str, object]
) -> None:
    """Somebody has edited the state by hand, or an older version wrote it."""
    progress, slope = Progress.load(course.root), course.find("slope")
    progress.record(lin_grad, solved(lin_grad))
    progress.record(slope, solved(slope))
    again = reopened_with_entry(progress, course, "lin_grad", entry)
    result = verdict(lin_grad, None, "mean-for-sum", "todo")
    assert again.result(lin_grad) is None
    assert again.hints_seen(lin_grad, result.answers[1]) == 1
    again.record(lin_grad, result)
    again.record_hints_seen(lin_grad, result.answers[1], 2)
    assert reopened(again, course).hints_seen(lin_grad, result.answers[1]) == 2
    assert again.result(slope) == solved(slope)


ANSWER = {"name": "w.g", "status": "passed", "score": 1.0, "max_score": 1.0}
DAMAGED = {
    "an unknown status": {"status": "late"},
    "status is a list": {"status": []},
    "status is a map": {"status": {}},
    "score is a word": {"score": "much"},
    "score is no number": {"score": float("nan")},
    "hints is a number": {"hints": 3},
    "message is a list": {"message": ["x"]},
    "mistake is a word": {"mistake": "x"},
}


@pytest.mark.parametrize("change", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_verdict_is_forgotten_and_kept_and_said(
    course: Course, lin_grad: CourseExercise, change: dict[str, object]
) -> None:
    progress = Progress.load(course.root)
    progress.record(lin_grad, solved(lin_grad))
    damaged = {"id": "lin_grad", "unit": "04_linear", "answers": [{**ANSWER, **change}]}
    again = reopened_with_entry(progress, course, "lin_grad", {"hash": "HASH", "result": damaged})
    assert again.exercises == {}
    assert again.result(lin_grad) is None
    assert len(again.notes) == 1
    assert "is damaged at lin_grad: it is kept as progress.broken.json" in again.notes[0]
    assert json.loads((course.root / ".handgrad/progress.broken.json").read_text())["exercises"].keys() == {"lin_grad"}
    assert reopened(again, course).notes == []


def test_half_a_character_in_a_message_costs_no_progress(course: Course, lin_grad: CourseExercise) -> None:
    progress, result = Progress.load(course.root), verdict(lin_grad, "unknown", None, None)
    first = replace(result.answers[0], message="half \ud83d")
    progress.record(lin_grad, replace(result, answers=(first, *result.answers[1:])))
    again = reopened(progress, course)
    assert again.notes == []
    assert again.result(lin_grad).answers[0].message == "half ?"  # type: ignore[union-attr]


def test_a_folder_that_cannot_be_written_is_noted_and_stops_nothing(course: Course, lin_grad: CourseExercise) -> None:
    progress = Progress.load(course.root)
    (course.root / ".handgrad").write_text("a file stands where the folder should")
    progress.record(lin_grad, solved(lin_grad))
    progress.save()
    assert len(progress.notes) == 1
    assert "Progress is not remembered" in progress.notes[0]
    assert progress.result(lin_grad) == solved(lin_grad)


def test_a_state_that_can_be_neither_read_nor_moved_is_not_said_to_be_kept_elsewhere(course: Course) -> None:
    (course.root / ".handgrad").write_text("a file stands where the folder should")
    progress = Progress.load(course.root)
    assert not any("kept as" in note for note in progress.notes)


def test_a_write_that_fails_leaves_the_old_state_and_no_litter(
    course: Course, lin_grad: CourseExercise, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress.load(course.root)
    progress.record(lin_grad, solved(lin_grad))
    progress.save()
    progress.forget(lin_grad)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        progress.save()
    assert "No space left on device" in progress.notes[0]
    assert Progress.load(course.root).result(lin_grad) == solved(lin_grad)
    assert [path.name for path in (course.root / ".handgrad").iterdir()] == ["progress.json"]


def test_the_state_is_versioned_json(course: Course, lin_grad: CourseExercise) -> None:
    progress = Progress.load(course.root)
    progress.record(lin_grad, solved(lin_grad))
    progress.save()
    assert json.loads((course.root / ".handgrad/progress.json").read_text())["version"] == 1


def test_units_are_counted_in_answers_and_come_in_teaching_order(course: Course, lin_grad: CourseExercise) -> None:
    progress = Progress.load(course.root)
    progress.record(lin_grad, verdict(lin_grad, None, None, "todo"))
    asked = ["04_linear", "01_slopes", "04_linear"]
    assert by_unit(course, progress, asked) == [
        UnitProgress("01_slopes", 0, 5, 0, 12),
        UnitProgress("04_linear", 2, 20, 0, 19),
    ]


def test_the_whole_course_is_counted_in_solved_exercises_without_reading_what_they_ask(
    course: Course, lin_grad: CourseExercise, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress.load(course.root)
    progress.record(lin_grad, solved(lin_grad))
    written = [exercise for exercise in course.exercises if not exercise.is_quiz]
    monkeypatch.delattr(Course, "declarations")
    assert whole_course(load_course(course.root), progress) == UnitProgress(
        "whole course", 1, len(written), counted="exercises"
    )


def test_next_is_the_first_open_exercise_and_stretch_comes_last(course: Course) -> None:
    progress = Progress.load(course.root)
    assert next_exercise(progress, course.exercises) == course.find("slope")
    for exercise in course.exercises:
        if exercise.unit == "01_slopes" and not exercise.stretch:
            progress.record(exercise, solved(exercise))
    assert next_exercise(progress, course.exercises) == course.find("dy_dx")
    for exercise in course.exercises:
        if not exercise.stretch:
            progress.record(exercise, solved(exercise))
    assert next_exercise(progress, course.exercises) == course.find("pick_h")
    for exercise in course.exercises:
        progress.record(exercise, solved(exercise))
    assert next_exercise(progress, course.exercises) is None


def test_a_quiz_that_was_skipped_comes_last(course: Course) -> None:
    """It is skipped once something of a later unit has been attempted."""
    progress = Progress.load(course.root)
    quiz, unit_2 = course.find("quiz_01_slopes"), course.find("dy_dx")
    for exercise in course.exercises:
        if exercise.unit == "01_slopes" and not exercise.is_quiz:
            progress.record(exercise, solved(exercise))
    assert next_exercise(progress, course.exercises) == quiz
    progress.record(unit_2, verdict(unit_2, "todo"))
    assert next_exercise(progress, course.exercises) == quiz
    progress.record(unit_2, verdict(unit_2, "unknown"))
    assert next_exercise(progress, course.exercises) == unit_2
    for exercise in course.exercises:
        if exercise != quiz and not exercise.stretch:
            progress.record(exercise, solved(exercise))
    assert next_exercise(progress, course.exercises) == quiz


def test_a_verdict_belongs_to_the_bytes_that_it_was_made_from(course: Course, lin_grad: CourseExercise) -> None:
    """A file that was saved again before its verdict was recorded has none."""
    progress, graded = Progress.load(course.root), lin_grad.path.read_bytes()
    result = solved(lin_grad).with_hash_of(graded)
    lin_grad.path.write_text("something else")
    progress.record(lin_grad, result)
    assert progress.result(lin_grad) is None
    lin_grad.path.write_bytes(graded)
    assert progress.result(lin_grad) == result


def test_a_verdict_that_was_our_own_error_is_not_a_pass(course: Course, lin_grad: CourseExercise) -> None:
    progress = Progress.load(course.root)
    answers = tuple(replace(a, status="error", code="error") for a in solved(lin_grad).answers)
    progress.record(lin_grad, ExerciseResult("lin_grad", "04_linear", answers))
    assert by_unit(course, progress, ["04_linear"])[0].done == 0
    assert next_exercise(progress, [lin_grad]) == lin_grad

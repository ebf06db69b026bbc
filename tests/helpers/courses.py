"""Provide the real course and learners' folders; a plugin of pytest."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from grader.authoring.build import worked_text
from grader.course.course import Course, CourseExercise, load_course
from grader.learner import workspace

ROOT = Path(__file__).resolve().parents[2]
TIME_LIMIT = 20.0  # seconds, for honest code on a busy machine
HANGING = 0.5  # seconds, for code that never ends
AT_ONCE = 5.0  # processor seconds, for what takes milliseconds; a mistake in its algorithm takes minutes
SEED = 20240917


def with_policy(course: Course, **changes: object) -> Course:
    """Return the course with some fields of its policy changed."""
    policy = course.policy.model_copy(update=changes)
    return replace(course, config=course.config.model_copy(update={"policy": policy}))


def with_units_before(course: Course, unit: str) -> Course:
    """Delete a unit and those after it from a learner's folder, and return the course that remains."""
    declared = course.root / "course.yaml"
    declared.write_text(declared.read_text(encoding="utf-8").partition(f"  - id: {unit}")[0], encoding="utf-8")
    for folder in (course.root / "exercises").glob("*_*"):
        if folder.name >= unit:
            shutil.rmtree(folder)
    return load_course(course.root)


@pytest.fixture(scope="session")
def course() -> Course:
    """Return the real course, with a time limit that no honest file reaches."""
    return with_policy(load_course(ROOT), time_limit=TIME_LIMIT)


@pytest.fixture(scope="session")
def exercises(course: Course) -> list[CourseExercise]:
    """Return the last exercise of each unit; `thorough/test_every_exercise.py` has all of them."""
    last = {exercise.unit: exercise for exercise in course.exercises if not exercise.is_quiz}
    return list(last.values())


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that returns a learner's new folder, made once; of the units before one if its id is given."""

    @functools.cache
    def made(unit: str) -> Path:
        course = workspace.init(tmp_path_factory.mktemp("template") / "ws")
        return with_units_before(course, unit).root if unit else course.root

    return made


@pytest.fixture
def new_workspace(template: Callable[[str], Path]) -> Callable[..., Course]:
    """Return a function that makes a learner's folder at a path, as `handgrad init` does, and returns its course.

    Most tests need a few units only, and copying all takes long: `new_workspace(folder, before="05_activations")`.
    """
    return lambda folder, before="": load_course(Path(shutil.copytree(template(before), folder)))


def solution(course: Course, exercise_id: str) -> bytes:
    """Return the worked solution of an exercise; of a quiz, its answer sheet filled in."""
    exercise = course.find(exercise_id)
    return worked_text(exercise).encode() if exercise.is_quiz else exercise.solution.read_bytes()

"""The course: the exercises that `course.yaml` lists, with their declarations in `solutions/`."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import linecache
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from grader.errors import CourseError, ReadError, SpecError, UsageError, describe_error
from grader.results.points import part
from grader.results.records import AnswerResult, ExerciseResult, Status

from .course_file import KEYS_FILE, QUIZ_FILE, CourseFile, Policy, Unit, line_of_name, read_course_file
from .exercise import Declaration, Exercise, Routine
from .plain_yaml import read_map

if TYPE_CHECKING:
    from .quiz import Quiz

COURSE_FILE = "course.yaml"
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
COURSE_VARIABLE = "HANDGRAD_COURSE"
MARKED = re.compile(rf"^([ \t]*){BEGIN}[\s\S]*?{END}[^\n]*", re.MULTILINE)
PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class CourseExercise:
    """Describe one exercise of a course: its place, its points, and its declaration, which is loaded at first use.

    Args:
        id: the name of its function and its file; `quiz_<unit>` for a quiz.
        unit: the id of its unit.
        points: the points of all its answers together.
        stretch: whether it is optional.
        course: the course that it belongs to.
        is_quiz: whether it is the quiz of its unit, answered in a sheet; if not, it is a function to write.
    """

    id: str
    unit: str
    points: float
    stretch: bool
    course: Course = field(repr=False, compare=False)
    is_quiz: bool = False

    @property
    def name(self) -> str:
        """Return the name of the learner's file, such as `lin_grad.py`, or `quiz.yaml` for a quiz."""
        return QUIZ_FILE if self.is_quiz else f"{self.id}.py"

    @property
    def file(self) -> str:
        """Return the path of the learner's file, relative to the course folder, with forward slashes."""
        return f"exercises/{self.unit}/{self.name}"

    @cached_property
    def path(self) -> Path:
        """Return the path of the learner's file."""
        return self.course.root / self.file

    @property
    def solution(self) -> Path:
        """Return the path of the exercise's worked solution, or of the questions of a quiz."""
        return self.course.solutions / self.unit / self.name

    @property
    def quiz_keys(self) -> Path:
        """Return the path of the file with a quiz's computed answers, which exists only if the quiz has any."""
        return self.solution.with_name(KEYS_FILE)

    @cached_property
    def given_statements(self) -> frozenset[str]:
        """Return the statements of the exercise's stub, and those inside its function, as `ast.dump` writes them.

        Empty for a quiz, or if the worked solution cannot be read. Each marked region of the solution counts as `...`.
        """
        try:
            text = "" if self.is_quiz else self.solution.read_text(encoding="utf-8")
            body = ast.parse(MARKED.sub(r"\1...", text)).body
        except (OSError, ValueError, SyntaxError):  # `build` reports what is wrong with it
            return frozenset()
        inside = [node.body for node in body if isinstance(node, ast.FunctionDef) and node.name == self.id]
        return frozenset(map(ast.dump, chain(body, *inside)))

    def with_time_limit(self, seconds: float) -> CourseExercise:
        """Return a copy of the exercise with another time limit, in seconds."""
        config = self.course.config
        policy = config.policy.model_copy(update={"time_limit": seconds})
        course = replace(self.course, config=config.model_copy(update={"policy": policy}))
        return replace(self, course=course)

    def unread_result(self, message: str, status: Status = "error", code: str = "error") -> ExerciseResult:
        """Return the result of a file that was not read: no points, and for each answer this status and message.

        Args:
            message: the message of each answer.
            status: the status of each answer.
            code: the public code of each answer.
        """
        return self._result_without_points(status, code, message)

    @cached_property
    def missing_result(self) -> ExerciseResult:
        """Return the result for a student who handed in nothing of the exercise, the same object for all students."""
        return self._result_without_points("todo", "todo", "not handed in")

    def _result_without_points(self, status: Status, code: str, message: str) -> ExerciseResult:
        """Return the result with the same status, code and message for each answer, and no points."""
        points = self.points_of_answer
        answers = tuple(AnswerResult(name, status, 0.0, points, code, message) for name in self.answer_names)
        return ExerciseResult(self.id, self.unit, answers, max_score=self.points)

    @property
    def signature(self) -> str:
        """Return the exercise's function and its arguments as in a call, `lin_grad(inp, out, w, b)`; not for a quiz."""
        return f"{self.id}({', '.join(self.function.argument_names)})"

    @cached_property
    def answer_names(self) -> tuple[str, ...]:
        """Return the names of the exercise's answers; the names alone are read for a quiz, if possible.

        Raises:
            SpecError: the exercise's declaration cannot be read.
        """
        if self.is_quiz:
            with suppress(OSError, UnicodeDecodeError, ReadError):  # its declaration reports what is wrong with it
                return tuple(map(str, read_map(self.solution.read_text(encoding="utf-8"))))
        return tuple(answer.name for answer in self.declaration.answers)

    @cached_property
    def points_of_answer(self) -> float:
        """Return the points that each of the exercise's answers is worth.

        Raises:
            SpecError: the exercise's declaration cannot be read.
        """
        return part(self.points, len(self.answer_names))

    @cached_property
    def declaration(self) -> Declaration | Quiz:
        """Return the exercise's declaration in the unit's `spec.py`, or the questions in a quiz's `quiz.yaml`.

        Raises:
            SpecError: the declaration cannot be read.
        """
        return self.quiz if self.is_quiz else self.function

    @cached_property
    def quiz(self) -> Quiz:
        """Return the questions of a quiz.

        Raises:
            SpecError: the questions cannot be read, or this is no quiz.
        """
        if not self.is_quiz:
            raise SpecError(f"{self.id} is no quiz.")
        from .quiz import read_quiz

        return read_quiz(self.solution)

    @cached_property
    def function(self) -> Declaration:
        """Return the declaration of the function that is to be written.

        Raises:
            SpecError: the spec cannot be read, or does not declare this exercise, as for a quiz.
        """
        declaration = self.course.declarations(self.unit).get(self.id)
        if declaration is None:
            listed, spec = self.course.root / COURSE_FILE, self.course.spec(self.unit)
            message = f"{spec} declares no exercise {self.id!r}: declare it there, or correct its id here."
            raise SpecError(f"{listed}, line {line_of_name(listed, self.id)}: {message}")
        return declaration


@dataclass(frozen=True)
class Course:
    """Hold a course folder.

    Args:
        root: the folder that holds `course.yaml` and `exercises/`.
        solutions: the folder of specs and worked solutions: in the root, or in the installed package of the course.
        config: the content of `course.yaml`.
    """

    root: Path
    solutions: Path
    config: CourseFile
    _specs: dict[str, dict[str, Declaration]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def policy(self) -> Policy:
        """Return the `policy` of `course.yaml`, which sets how answers are graded."""
        return self.config.policy

    @cached_property
    def exercises(self) -> tuple[CourseExercise, ...]:
        """Return every exercise in teaching order, the quiz of a unit last."""
        return tuple(chain.from_iterable(self._unit_exercises(unit) for unit in self.config.units))

    def _unit_exercises(self, unit: Unit) -> Iterator[CourseExercise]:
        """Yield the exercises of a unit in teaching order, its quiz last."""
        for entry in unit.exercises:
            yield CourseExercise(entry.id, unit.id, entry.points, entry.stretch, self)
        if unit.quiz is not None:
            yield CourseExercise(unit.quiz_id, unit.id, unit.quiz, False, self, is_quiz=True)

    def spec(self, unit: str) -> Path:
        """Return the path of the `spec.py` of a unit, given by id."""
        return self.solutions / unit / "spec.py"

    def declarations(self, unit: str) -> dict[str, Declaration]:
        """Return the declarations of a unit by id, in the order of its `spec.py`, which is run at first use.

        Raises:
            SpecError: the `spec.py` is missing or cannot be run.
        """
        if unit not in self._specs:
            self._specs[unit] = _load_spec(self.spec(unit), f"handgrad_spec_{unit}")
        return self._specs[unit]

    def find(self, name: str) -> CourseExercise:
        """Return the exercise with this id or file.

        Raises:
            UsageError: there is no such exercise (names the nearest), or `name` is that of a whole unit or folder.
        """
        if name in self._by_id:
            return self._by_id[name]
        exercises = self._matching(name)
        if len(exercises) > 1:
            raise UsageError(f"{name} is a whole unit or folder: name one exercise, such as {exercises[0].id}.")
        return exercises[0]

    @cached_property
    def _by_id(self) -> dict[str, CourseExercise]:
        """Return the exercises by their ids."""
        return {exercise.id: exercise for exercise in self.exercises}

    def exercise_at(self, path: Path) -> CourseExercise | None:
        """Return the exercise whose learner's file has this path; `None` if there is none."""
        resolved = path.resolve()
        return next((exercise for exercise in self.exercises if exercise.path == resolved), None)

    def select(self, targets: Sequence[str]) -> tuple[CourseExercise, ...]:
        """Return the exercises named by ids, units, files or folders, in teaching order; all if no targets are given.

        A unit is named by its id or its number.

        Raises:
            UsageError: a target names nothing.
        """
        if not targets:
            return self.exercises
        chosen = {exercise for target in targets for exercise in self._matching(target)}
        return tuple(exercise for exercise in self.exercises if exercise in chosen)

    def _matching(self, target: str) -> tuple[CourseExercise, ...]:
        """Return the exercises that an id, a unit, a file or a folder names, at least one.

        What follows `::`, as in an id of pytest's, is not read.

        Raises:
            UsageError: `target` names no exercise.
        """
        target = target.split("::")[0]
        name = self.config.unit_id(target.strip("/"))
        exercises = tuple(e for e in self.exercises if name in (e.id, e.unit, e.file, e.file.rpartition(".")[0]))
        if exercises:
            return exercises
        path = Path(target).resolve()
        exercises = tuple(e for e in self.exercises if path == e.path or path in e.path.parents)
        if not exercises:
            raise UsageError(self._unknown_name(target))
        return exercises

    def _unknown_name(self, name: str) -> str:
        """Return the message for an unknown name of an exercise, with a known one that begins or is spelled like it."""
        known = [exercise.id for exercise in self.exercises] + [unit.id for unit in self.config.units]
        typed = Path(name).stem or name
        completions = [id_ for id_ in known if id_.startswith(typed) or id_.partition("_")[2] == typed]
        near = completions[:1] or difflib.get_close_matches(typed, known, 1)
        hint = f"Did you mean {near[0]}?" if near else "See them all with: handgrad list"
        return f"There is no exercise, unit or exercise file {name!r} in this course. {hint}"


def bundled_folder() -> Path:
    """Return the folder of handgrad's own course: a copy inside the wheel, or the checkout itself."""
    inside = PACKAGE / "bundled"
    return inside if inside.is_dir() else PACKAGE.parent


def package_folder(name: str) -> Path | None:
    """Return the folder of an installed package that holds a course; for an empty name, of handgrad's own course.

    Args:
        name: the name by which the package is imported; the package is found without being imported. The path of a
            folder is allowed in its place.

    Returns:
        The folder; `None` if the package is not installed or holds no `course.yaml`.
    """
    if not name:
        return bundled_folder()
    if Path(name).is_absolute():
        return Path(name) if (Path(name) / COURSE_FILE).is_file() else None
    try:
        module_spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    folders = map(Path, (module_spec.submodule_search_locations if module_spec else None) or ())
    return next((folder for folder in folders if (folder / COURSE_FILE).is_file()), None)


def find_root(start: Path) -> Path | None:
    """Return the nearest folder at or above `start` that holds a `course.yaml`; `None` if there is none."""
    start = start.resolve()
    return next((folder for folder in (start, *start.parents) if (folder / COURSE_FILE).is_file()), None)


def open_course(start: Path) -> Course:
    """Return the course that contains the folder `start`.

    Raises:
        CourseError: no course contains the folder, or its `course.yaml` cannot be used.
    """
    root = find_root(start)
    if root is None:
        raise CourseError(
            f"There is no course.yaml in {start.resolve()} or above it: go to your course folder, "
            "or make one with: handgrad init my-course"
        )
    return load_course(root)


def notebook_course(start: Path) -> Course:
    """Return the course of a notebook in the folder `start`.

    It is the course in the folder that the environment variable HANDGRAD_COURSE names, else the one that contains
    `start`, else handgrad's own.

    Raises:
        CourseError: the course's `course.yaml` cannot be used.
    """
    named = os.environ.get(COURSE_VARIABLE)
    return load_course(Path(named) if named else find_root(start) or bundled_folder())


def open_authors_course(start: Path) -> Course:
    """Return the course that contains the folder `start`, if it is an author's, with a `solutions/` folder.

    Raises:
        CourseError: no course contains the folder, or its `course.yaml` cannot be used.
        UsageError: the course is a learner's.
    """
    course = open_course(start)
    if course.solutions.parent != course.root:
        raise UsageError(f"{course.root} has no solutions/: only a course author's folder can be built and audited.")
    return course


def load_course(root: Path) -> Course:
    """Return the course in the folder `root`.

    Its solutions are those in the folder itself, or else those in the package that `course.yaml` names.

    Raises:
        CourseError: `course.yaml` is missing, unreadable or wrong; names the line.
    """
    config, solutions = read_course_file(root / COURSE_FILE), root / "solutions"
    if solutions.is_dir():
        return Course(root.resolve(), solutions.resolve(), config)
    source = package_folder(config.package)
    if source is None:
        listed, package = root / COURSE_FILE, config.package
        where = f"{listed}, line {line_of_name(listed, package)}"
        raise CourseError(f"{where}: this course comes in the package {package}, which is not installed: install it.")
    return Course(root.resolve(), source / "solutions", config)


def load_module(path: Path, name: str) -> ModuleType:
    """Run a file of the course's author as a module, without writing bytecode, and return the module.

    The lines of the file are kept in `linecache`.

    Args:
        path: the file.
        name: the name of the module, which is not put into `sys.modules`.

    Raises:
        SpecError: the file cannot be run; names the line.
    """
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    saved, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise SpecError(f"{path}, line {_line_in(path, error)}: {describe_error(error)}") from error
    finally:
        sys.dont_write_bytecode = saved
    _keep_source(path)
    return module


def _keep_source(path: Path) -> None:
    """Put the lines of a file into `linecache`, where tracebacks and recorded forward passes look for them.

    A grading process reads no files, and the folder of a course that was sent to it is gone when it needs them. An
    entry without a time of change is never checked against the file.
    """
    lines = linecache.getlines(str(path))
    linecache.cache[str(path)] = (sum(map(len, lines)), None, lines, str(path))


def _load_spec(path: Path, name: str) -> dict[str, Declaration]:
    """Return the declarations in a `spec.py` by their names, in its order.

    Args:
        path: the file.
        name: the name of the module that it is run as.

    Raises:
        SpecError: the file is missing or cannot be run.
    """
    if not path.is_file():
        raise SpecError(f"{path} is missing: every unit of course.yaml needs a spec.py.")
    module = load_module(path, name)
    return {key: value for key, value in vars(module).items() if isinstance(value, (Exercise, Routine))}


def _line_in(path: Path, error: BaseException) -> int:
    """Return the line of a file in which an exception arose; 1 if it cannot be told."""
    if isinstance(error, SyntaxError):
        return error.lineno or 1
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 1 for frame in reversed(frames) if frame.filename == str(path)), 1)

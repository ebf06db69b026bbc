"""The author's audit: checks that every exercise of a course is sound, and finds what is out of place."""

from __future__ import annotations

import ast
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath

from grader.course.course import COURSE_FILE, Course, CourseExercise
from grader.course.course_file import Unit, line_of_name
from grader.errors import CourseError, SpecError
from grader.judging.grading import Grader
from grader.results.records import AnswerResult
from grader.sandbox.worker import Worker

from . import audit_quiz, audit_words
from .audit_numbers import check_numbers
from .build import is_stale, read_worked, solution_file, stub, worked_text

LESSON = "README.md"
ANYWHERE = (LESSON, "*.svg")
IN_A_UNIT = {"exercises": ANYWHERE, "solutions": (*ANYWHERE, "spec.py", "training.py", "training_text.txt")}
WORDS_FILE = "grader/diagnosis/words.yaml"


@dataclass(frozen=True)
class Finding:
    """Something to be put right.

    Args:
        file: relative to the course folder, with forward slashes.
        says: one sentence that ends with what to do.
    """

    file: str
    says: str


Progress = Callable[[CourseExercise], None]
Check = Callable[[], Iterator[str]]


def audit(course: Course, grader: Grader, worker: Worker, progress: Progress | None = None) -> list[Finding]:
    """Everything that is wrong with a course; an empty list if it is sound.

    Args:
        grader: where the trials come from.
        worker: runs the stubs and the worked solutions.
        progress: called with each exercise before its checks.
    """
    findings = [*_check_files(course), *(Finding(WORDS_FILE, says) for says in audit_words.check_code_hints())]
    for unit in course.config.units:
        findings += _check_declarations(course, unit)
    declared = [exercise for exercise in course.exercises if _is_declared(exercise)]
    with _numbers_beside([exercise for exercise in declared if not exercise.is_quiz], grader) as numbers_of:
        for exercise in declared:
            if progress is not None:
                progress(exercise)
            findings += _check_exercise(exercise, _checks(exercise, grader, worker))
            if not exercise.is_quiz:
                findings += numbers_of(exercise)
    return list(dict.fromkeys(findings))


@contextmanager
def _numbers_beside(
    exercises: list[CourseExercise], grader: Grader
) -> Iterator[Callable[[CourseExercise], Iterable[Finding]]]:
    """The findings about the numbers of each exercise, which other processes look for in the meantime."""
    if sys.platform != "linux":  # what is declared cannot be sent to another process, only inherited
        yield lambda exercise: _check_numbers(exercise, grader)
        return
    given = (dict(enumerate(exercises)), grader)
    pool = ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("fork"), _inherit, given)
    try:
        found = [pool.submit(_inherited_numbers, number) for number in range(len(exercises))]
        yield lambda exercise: found[exercises.index(exercise)].result()
    finally:
        pool.shutdown(cancel_futures=True)


_inherited: tuple[dict[int, CourseExercise], Grader]


def _inherit(exercises: dict[int, CourseExercise], grader: Grader) -> None:
    """Keep, in a process that looks at numbers, what it was given; whoever started it ends it."""
    global _inherited
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _inherited = exercises, grader


def _inherited_numbers(number: int) -> list[Finding]:
    exercises, grader = _inherited
    return list(_check_numbers(exercises[number], grader))


def _check_numbers(exercise: CourseExercise, grader: Grader) -> Iterator[Finding]:
    check = (_spec(exercise.unit), f"{exercise.id}: ", lambda: check_numbers(exercise, grader))
    return _check_exercise(exercise, (check,))


def _is_declared(exercise: CourseExercise) -> bool:
    """The spec can be read and has a declaration; if not, `_check_declarations` says so."""
    try:
        return exercise.is_quiz or exercise.id in exercise.course.declarations(exercise.unit)
    except SpecError:
        return False


def _check_declarations(course: Course, unit: Unit) -> Iterator[Finding]:
    """What the spec declares and what the course lists are the same, in the same order."""
    spec = _spec(unit.id)
    try:
        declared = list(course.declarations(unit.id))
    except SpecError as error:
        yield Finding(spec, f"{_without_file(error, course.spec(unit.id))}; correct the declarations.")
        return
    if _imports_torch(course.spec(unit.id)):
        yield Finding(spec, "it imports torch, which every listing of exercises would wait for: use tensor methods.")
    listed = [entry.id for entry in unit.exercises]
    for name in listed:
        if name not in declared:
            line = line_of_name(course.root / COURSE_FILE, name)
            says = f"line {line}: {name} is listed, but {spec} does not declare it: declare it, or unlist it."
            yield Finding(COURSE_FILE, says)
    units = {exercise.id: exercise.unit for exercise in course.exercises}
    for name in declared:
        if name in listed:
            continue
        if name in units:
            yield Finding(spec, f"{name} is an exercise of {units[name]} too: give this one another name.")
        else:
            yield Finding(spec, f"{name} is declared but not listed: list it in {COURSE_FILE}, or remove it.")
    both = [name for name in listed if name in declared]
    for first, second in zip(both, [name for name in declared if name in listed], strict=True):
        if first != second:
            yield Finding(spec, f"{second} stands where {COURSE_FILE} has {first}: put both in teaching order.")
            return


def _imports_torch(spec: Path) -> bool:
    """Reading the spec imports torch; inside a function it would be imported only when that runs."""
    for node in ast.parse(spec.read_text(encoding="utf-8")).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] == "torch" for name in names):
            return True
    return False


def _spec(unit: str) -> str:
    return f"solutions/{unit}/spec.py"


def _without_file(error: Exception, *files: object) -> str:
    """The sentence of an error, without the file that a finding names anyway."""
    text = str(error)
    for file in files:
        text = text.removeprefix(str(file))
    return text.lstrip(",: ").rstrip(".")


def _check_exercise(exercise: CourseExercise, checks: Iterable[tuple[str, str, Check]]) -> Iterator[Finding]:
    """Checks of one exercise; one that cannot be made is a finding and stops no other."""
    spec, solution = _spec(exercise.unit), solution_file(exercise)
    for file, about, check in checks:
        try:
            for says in check():
                yield Finding(file, about + says)
        except CourseError as error:
            yield Finding(solution, f"{_without_file(error, solution)}.")
        except SpecError as error:
            if exercise.is_quiz:  # whose errors say what to do
                yield Finding(solution, f"{_without_file(error, exercise.solution)}.")
            else:
                yield Finding(spec, f"{exercise.id}: {_without_file(error)}; correct the declaration.")
        except Exception as error:  # a declaration may hold any code: whatever it raises is the author's to see
            failure = f"{type(error).__name__}: {error}"
            yield Finding(spec, f"{exercise.id}: its declaration fails ({failure}); correct it.")


def _checks(exercise: CourseExercise, grader: Grader, worker: Worker) -> tuple[tuple[str, str, Check], ...]:
    """The file that each check is about, what its findings begin with, and the check; those of numbers come apart."""
    spec, solution = _spec(exercise.unit), solution_file(exercise)
    if exercise.is_quiz:
        return (
            (solution, "", lambda: audit_quiz.check_quiz(exercise)),
            (exercise.file, "", lambda: _check_stub(exercise, grader, worker)),
            (solution, "", lambda: _check_solution(exercise, grader, worker)),
        )
    return (
        (solution, "", lambda: audit_words.check_signature(exercise)),
        (exercise.file, "", lambda: _check_stub(exercise, grader, worker)),
        (solution, "", lambda: _check_solution(exercise, grader, worker)),
        (spec, f"{exercise.id}: ", lambda: audit_words.check_hints(exercise.function)),
        (spec, f"{exercise.id}: ", lambda: audit_words.check_giveaways(exercise)),
    )


def _check_stub(exercise: CourseExercise, grader: Grader, worker: Worker) -> Iterator[str]:
    """The learner's file is up to date, and every answer in it is still to be written."""
    text = stub(exercise)
    if is_stale(exercise.path, text):
        state = "is not what its worked solution gives" if exercise.path.is_file() else "is missing"
        yield f"it {state}: write it with: handgrad build"
    for answer in grader.grade(exercise, text.encode(), worker).answers:
        if answer.status != "todo":
            yield f"in the stub {_describe_verdict(answer)}, not todo: put the marks around all of the answer."


def _check_solution(exercise: CourseExercise, grader: Grader, worker: Worker) -> Iterator[str]:
    """The worked solution passes every answer."""
    text = worked_text(exercise) if exercise.is_quiz else "\n".join(read_worked(exercise).lines)
    for answer in grader.grade(exercise, text.encode(), worker).answers:
        if answer.status != "passed":
            yield f"{_describe_verdict(answer)}: {answer.message}; correct the solution or its declaration."


def _describe_verdict(answer: AnswerResult) -> str:
    return f"{answer.name} is {answer.code or answer.status}"


def _check_files(course: Course) -> Iterator[Finding]:
    """Every unit has a lesson, and nothing lies about that belongs to nothing."""
    for unit in course.config.units:
        lesson = course.root / "exercises" / unit.id / LESSON
        if not lesson.is_file() or not lesson.read_text(encoding="utf-8", errors="replace").strip():
            yield Finding(f"exercises/{unit.id}/{LESSON}", "the unit has no lesson: write it in this file.")
            continue
        text = lesson.read_text(encoding="utf-8", errors="replace")
        for name in (exercise.name for exercise in course.exercises if exercise.unit == unit.id):
            if name not in text:
                says = f"it does not mention {name}: list it among the unit's exercises."
                yield Finding(f"exercises/{unit.id}/{LESSON}", says)
    known = set(chain.from_iterable((e.path, e.solution) for e in course.exercises))
    known |= {exercise.quiz_keys for exercise in course.exercises if exercise.is_quiz and exercise.quiz_keys.is_file()}
    units = {unit.id for unit in course.config.units}
    for name, folder in (("exercises", course.root / "exercises"), ("solutions", course.solutions)):
        for path in _visible(folder):
            if path not in known and not _is_allowed(PurePosixPath(path.relative_to(folder)), units, name):
                file = f"{name}/{path.relative_to(folder).as_posix()}"
                yield Finding(file, f"it belongs to nothing in {COURSE_FILE}: list its exercise, or remove it.")


def _visible(folder: Path) -> list[Path]:
    """Every file in a folder, without caches and hidden files."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(p.startswith(".") or p == "__pycache__" for p in path.relative_to(folder).parts)
    )


def _is_allowed(file: PurePosixPath, units: set[str], folder: str) -> bool:
    """A file that may be there although no exercise is called so.

    Args:
        file: relative to `exercises/` or `solutions/`, which `folder` names.
    """
    inside = file.parts[0] in units
    patterns = IN_A_UNIT[folder] if inside else ANYWHERE if len(file.parts) == 1 else ()
    return any(file.match(pattern) for pattern in patterns)

"""The author's audit: checks that every exercise of a course is sound, and that no file is out of place."""

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

from .audit_exercise import check_code_hints, check_giveaways, check_hints, check_numbers, check_signature
from .audit_quiz import check_quiz
from .build import is_stale, read_worked, solution_file, stub, worked_text

LESSON = "README.md"
ANYWHERE = (LESSON, "*.svg")
IN_A_UNIT = {"exercises": ANYWHERE, "solutions": (*ANYWHERE, "spec.py", "training.py", "training_text.txt")}
WORDS_FILE = "grader/diagnosis/words.yaml"


@dataclass(frozen=True)
class AuditFinding:
    """A problem of a course, for its author to correct.

    Args:
        file: the path of the file to change, relative to the course folder, with forward slashes.
        says: one sentence that ends with what to do.
    """

    file: str
    says: str


ShowProgress = Callable[[CourseExercise], None]
Check = Callable[[], Iterator[str]]


def audit(course: Course, grader: Grader, worker: Worker, progress: ShowProgress | None = None) -> list[AuditFinding]:
    """Return everything that is wrong with a course; an empty list if it is sound.

    Args:
        course: the course.
        grader: makes the trials.
        worker: runs the stubs and the worked solutions.
        progress: called with each exercise before its checks.
    """
    findings = [*_check_files(course), *(AuditFinding(WORDS_FILE, says) for says in check_code_hints())]
    for unit in course.config.units:
        findings += _check_declarations(course, unit)
    declared = [exercise for exercise in course.exercises if _is_declared(exercise)]
    with _numbers_in_parallel([exercise for exercise in declared if not exercise.is_quiz], grader) as numbers_of:
        for exercise in declared:
            if progress is not None:
                progress(exercise)
            findings += _check_exercise(exercise, _checks(exercise, grader, worker))
            if not exercise.is_quiz:
                findings += numbers_of(exercise)
    return list(dict.fromkeys(findings))


@contextmanager
def _numbers_in_parallel(
    exercises: list[CourseExercise], grader: Grader
) -> Iterator[Callable[[CourseExercise], Iterable[AuditFinding]]]:
    """Check the numbers of exercises in other processes while the block runs.

    Yields:
        A function that returns the findings about the numbers of an exercise, and waits for them if need be.
    """
    if sys.platform != "linux":  # what is declared cannot be sent to another process, only inherited
        yield lambda exercise: _check_numbers(exercise, grader)
        return
    given = (dict(enumerate(exercises)), grader)
    pool = ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("fork"), _inherit, given)
    try:
        futures = [pool.submit(_inherited_numbers, number) for number in range(len(exercises))]
        yield lambda exercise: futures[exercises.index(exercise)].result()
    finally:
        pool.shutdown(cancel_futures=True)


_inherited: tuple[dict[int, CourseExercise], Grader]


def _inherit(exercises: dict[int, CourseExercise], grader: Grader) -> None:
    """Keep the exercises and the grader in a process that checks numbers, and leave Ctrl-C to its parent."""
    global _inherited
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _inherited = exercises, grader


def _inherited_numbers(number: int) -> list[AuditFinding]:
    """Return the findings about the numbers of one of the exercises that this process keeps."""
    exercises, grader = _inherited
    return list(_check_numbers(exercises[number], grader))


def _check_numbers(exercise: CourseExercise, grader: Grader) -> Iterator[AuditFinding]:
    """Yield the findings about the numbers of an exercise."""
    check = (_spec(exercise.unit), f"{exercise.id}: ", lambda: check_numbers(exercise, grader))
    return _check_exercise(exercise, (check,))


def _is_declared(exercise: CourseExercise) -> bool:
    """Return whether the spec can be read and declares the exercise; `_check_declarations` reports it if not."""
    try:
        return exercise.is_quiz or exercise.id in exercise.course.declarations(exercise.unit)
    except SpecError:
        return False


def _check_declarations(course: Course, unit: Unit) -> Iterator[AuditFinding]:
    """Yield the differences, in order too, between the exercises that a spec declares and those that are listed."""
    spec = _spec(unit.id)
    try:
        declared = list(course.declarations(unit.id))
    except SpecError as error:
        yield AuditFinding(spec, f"{_without_file(error, course.spec(unit.id))}; correct the declarations.")
        return
    if _imports_torch(course.spec(unit.id)):
        yield AuditFinding(
            spec, "it imports torch, which every listing of exercises would wait for: use tensor methods."
        )
    listed = [entry.id for entry in unit.exercises]
    for name in listed:
        if name not in declared:
            line = line_of_name(course.root / COURSE_FILE, name)
            says = f"line {line}: {name} is listed, but {spec} does not declare it: declare it, or unlist it."
            yield AuditFinding(COURSE_FILE, says)
    units = {exercise.id: exercise.unit for exercise in course.exercises}
    for name in declared:
        if name in listed:
            continue
        if name in units:
            yield AuditFinding(spec, f"{name} is an exercise of {units[name]} too: give this one another name.")
        else:
            yield AuditFinding(spec, f"{name} is declared but not listed: list it in {COURSE_FILE}, or remove it.")
    both = [name for name in listed if name in declared]
    for first, second in zip(both, [name for name in declared if name in listed], strict=True):
        if first != second:
            yield AuditFinding(spec, f"{second} stands where {COURSE_FILE} has {first}: put both in teaching order.")
            return


def _imports_torch(spec: Path) -> bool:
    """Return whether reading a spec imports torch; an import inside a function is not made before that runs."""
    for node in ast.parse(spec.read_text(encoding="utf-8")).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] == "torch" for name in names):
            return True
    return False


def _spec(unit: str) -> str:
    """Return the path of a unit's spec, relative to the course folder."""
    return f"solutions/{unit}/spec.py"


def _without_file(error: Exception, *files: object) -> str:
    """Return the message of an error without its full stop, and without these paths at its beginning."""
    text = str(error)
    for file in files:
        text = text.removeprefix(str(file))
    return text.lstrip(",: ").rstrip(".")


def _check_exercise(exercise: CourseExercise, checks: Iterable[tuple[str, str, Check]]) -> Iterator[AuditFinding]:
    """Make the checks of one exercise, and yield their findings; a check that raises is a finding and stops no other.

    Args:
        exercise: the exercise.
        checks: the file that each is about, the beginning of its findings, and the check.
    """
    spec, solution = _spec(exercise.unit), solution_file(exercise)
    for file, about, check in checks:
        try:
            for says in check():
                yield AuditFinding(file, about + says)
        except CourseError as error:
            yield AuditFinding(solution, f"{_without_file(error, solution)}.")
        except SpecError as error:
            if exercise.is_quiz:  # its errors say what to do
                yield AuditFinding(solution, f"{_without_file(error, exercise.solution)}.")
            else:
                yield AuditFinding(spec, f"{exercise.id}: {_without_file(error)}; correct the declaration.")
        except Exception as error:  # a declaration may hold any code: whatever it raises is the author's to see
            failure = f"{type(error).__name__}: {error}"
            yield AuditFinding(spec, f"{exercise.id}: its declaration fails ({failure}); correct it.")


def _checks(exercise: CourseExercise, grader: Grader, worker: Worker) -> tuple[tuple[str, str, Check], ...]:
    """Return the checks of an exercise but for its numbers: the file, the beginning of the findings, and the check."""
    spec, solution = _spec(exercise.unit), solution_file(exercise)
    if exercise.is_quiz:
        return (
            (solution, "", lambda: check_quiz(exercise)),
            (exercise.file, "", lambda: _check_stub(exercise, grader, worker)),
            (solution, "", lambda: _check_solution(exercise, grader, worker)),
        )
    return (
        (solution, "", lambda: check_signature(exercise)),
        (exercise.file, "", lambda: _check_stub(exercise, grader, worker)),
        (solution, "", lambda: _check_solution(exercise, grader, worker)),
        (spec, f"{exercise.id}: ", lambda: check_hints(exercise.function)),
        (spec, f"{exercise.id}: ", lambda: check_giveaways(exercise)),
    )


def _check_stub(exercise: CourseExercise, grader: Grader, worker: Worker) -> Iterator[str]:
    """Yield whether the learner's file is out of date, and which answers in it are not still to be written."""
    text = stub(exercise)
    if is_stale(exercise.path, text):
        state = "is not what its worked solution gives" if exercise.path.is_file() else "is missing"
        yield f"it {state}: write it with: handgrad build"
    for answer in grader.grade(exercise, text.encode(), worker).answers:
        if answer.status != "todo":
            yield f"in the stub {_describe_verdict(answer)}, not todo: put the marks around all of the answer."


def _check_solution(exercise: CourseExercise, grader: Grader, worker: Worker) -> Iterator[str]:
    """Yield the answers that the worked solution does not pass."""
    text = worked_text(exercise) if exercise.is_quiz else "\n".join(read_worked(exercise).lines)
    for answer in grader.grade(exercise, text.encode(), worker).answers:
        if answer.status != "passed":
            yield f"{_describe_verdict(answer)}: {answer.message}; correct the solution or its declaration."


def _describe_verdict(answer: AnswerResult) -> str:
    return f"{answer.name} is {answer.code or answer.status}"


def _check_files(course: Course) -> Iterator[AuditFinding]:
    """Yield the units without a lesson, exercises that it does not mention, and files that belong to no exercise."""
    for unit in course.config.units:
        lesson = course.root / "exercises" / unit.id / LESSON
        if not lesson.is_file() or not lesson.read_text(encoding="utf-8", errors="replace").strip():
            yield AuditFinding(f"exercises/{unit.id}/{LESSON}", "the unit has no lesson: write it in this file.")
            continue
        text = lesson.read_text(encoding="utf-8", errors="replace")
        for name in (exercise.name for exercise in course.exercises if exercise.unit == unit.id):
            if name not in text:
                says = f"it does not mention {name}: list it among the unit's exercises."
                yield AuditFinding(f"exercises/{unit.id}/{LESSON}", says)
    known = set(chain.from_iterable((exercise.path, exercise.solution) for exercise in course.exercises))
    known |= {exercise.quiz_keys for exercise in course.exercises if exercise.is_quiz and exercise.quiz_keys.is_file()}
    units = {unit.id for unit in course.config.units}
    for name, folder in (("exercises", course.root / "exercises"), ("solutions", course.solutions)):
        for path in _visible(folder):
            if path not in known and not _is_allowed(PurePosixPath(path.relative_to(folder)), units, name):
                file = f"{name}/{path.relative_to(folder).as_posix()}"
                yield AuditFinding(file, f"it belongs to nothing in {COURSE_FILE}: list its exercise, or remove it.")


def _visible(folder: Path) -> list[Path]:
    """Return every file in a folder and below, sorted, without caches and hidden files."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(p.startswith(".") or p == "__pycache__" for p in path.relative_to(folder).parts)
    )


def _is_allowed(file: PurePosixPath, units: set[str], folder: str) -> bool:
    """Return whether a file may be there although it belongs to no exercise.

    Args:
        file: relative to `folder`.
        units: the ids of the units.
        folder: "exercises" or "solutions".
    """
    if file.parts[0] in units:
        patterns = IN_A_UNIT[folder]
    else:
        patterns = ANYWHERE if len(file.parts) == 1 else ()
    return any(file.match(pattern) for pattern in patterns)

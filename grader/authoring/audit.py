"""The author's audit: checks that every exercise of a course is sound, and that no file is out of place.

It runs the examples of each lesson, and compares what they print with what the lesson shows.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import multiprocessing
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from grader.course.course import COURSE_FILE, Course, CourseExercise
from grader.course.course_file import QUIZ_FILE, Unit, line_of_name
from grader.errors import CourseError, ReadError, SpecError
from grader.judging.grading import Grader
from grader.judging.grading_pool import GradingPool
from grader.reference.references import one_thread
from grader.results.records import AnswerResult
from grader.sandbox.source_text import Part
from grader.sandbox.worker import Worker

from .audit_exercise import (
    check_giveaways,
    check_hints,
    check_numbers,
    check_quiz,
    check_signature,
    takes_declared_inputs,
)
from .build import is_stale, read_worked, solution_file, stub, worked_text
from .submission_pages import PAGES, PageSubmission, head_problems, read_page

LESSON = "README.md"
ANYWHERE = (LESSON, "*.svg")
IN_A_UNIT = {"exercises": ANYWHERE, "solutions": (*ANYWHERE, "spec.py", "training.py", "training_text.txt")}
FEW_SUBMISSIONS = 8  # that one process grades in less time than a second one takes to start
FIRST_SEED = 1  # the same in every run, so that a finding can be seen again
FENCE = re.compile(r"^[ \t]*(```|~~~).*$", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])")
TIME_LIMIT = 30.0  # seconds for an example: those of a lesson take milliseconds, also on a busy machine


@dataclass(frozen=True)
class AuditFinding:
    """A problem of a course, for its author to correct.

    Args:
        file: the path of the file to change, relative to the course folder, with forward slashes.
        says: one sentence that ends with what to do.
    """

    file: str
    says: str


ShowProgress = Callable[[str], None]
Check = Callable[[], Iterator[str]]


def audit(
    course: Course,
    grader: Grader,
    worker: Worker,
    progress: ShowProgress | None = None,
    exercises: Iterable[CourseExercise] | None = None,
) -> list[AuditFinding]:
    """Return everything that is wrong with a course but for its pages of submissions; an empty list if it is sound.

    Args:
        course: the course.
        grader: makes the trials.
        worker: runs the stubs and the worked solutions.
        progress: called with the file of each exercise before its checks.
        exercises: the exercises to audit, with the lessons of their units; all if `None`. What concerns the course as a
            whole is always audited.
    """
    chosen = course.exercises if exercises is None else tuple(exercises)
    units = [unit.id for unit in course.config.units if exercises is None or unit.id in {e.unit for e in chosen}]
    findings = list(_check_files(course))
    for unit in course.config.units:
        findings += _check_declarations(course, unit)
    declared = [exercise for exercise in chosen if _is_declared(exercise)]
    tasks: dict[str, Task] = {
        exercise.id: _numbers_task(exercise, grader) for exercise in declared if not exercise.is_quiz
    }
    if tasks:  # gradcheck imports sympy through it, which takes most of a second: once, not in every process
        importlib.import_module("torch.fx.experimental.symbolic_shapes")
    tasks |= {unit: _lesson_task(course, unit) for unit in units}
    with _in_parallel(tasks) as findings_of:
        for exercise in declared:
            if progress is not None:
                progress(exercise.file)
            findings += _check_exercise(exercise, _checks(exercise, grader, worker))
            if not exercise.is_quiz:
                findings += findings_of(exercise.id)
        for unit_id in units:
            findings += findings_of(unit_id)
    return list(dict.fromkeys(findings))


def read_pages(
    course: Course, exercises: Sequence[CourseExercise]
) -> tuple[dict[CourseExercise, list[PageSubmission]], list[AuditFinding]]:
    """Read the pages of submissions of exercises, and run none of them.

    A course without a folder `tests/learners` has no pages, and needs none.

    Args:
        course: the course.
        exercises: the exercises whose pages are read.

    Returns:
        The submissions by exercise, and what is wrong with the pages.
    """
    folder, findings, submissions = (
        course.root / PAGES,
        list[AuditFinding](),
        dict[CourseExercise, list[PageSubmission]](),
    )
    if not folder.is_dir():
        return {}, []
    known = {f"{exercise.unit}/{exercise.id}.py" for exercise in course.exercises if not exercise.is_quiz}
    for path in sorted(folder.glob("*/*.py")):
        if (name := path.relative_to(folder).as_posix()) not in known:
            says = f"it belongs to nothing in {COURSE_FILE}: list its exercise, or remove it."
            findings.append(AuditFinding(f"{PAGES}/{name}", says))
    for exercise in exercises:
        file = f"{PAGES}/{exercise.unit}/{exercise.id}.py"
        if exercise.is_quiz or not _is_declared(exercise):
            continue
        try:
            page = read_page(course.root / file)
        except FileNotFoundError:
            says = f"there is no page of submissions: write right and wrong answers to {exercise.id} there."
            findings.append(AuditFinding(file, says))
            continue
        except (ReadError, UnicodeDecodeError) as error:
            findings.append(AuditFinding(file, f"{_without_file(error)}."))
            continue
        submissions[exercise] = page
        if not page:
            findings.append(AuditFinding(file, "no submission is on it: write a right one and a wrong one."))
        for submission in page:
            for says in head_problems(submission, exercise.answer_names):
                findings.append(AuditFinding(file, f"line {submission.line}: {says}"))
    return submissions, findings


def run_pages(
    pages: dict[CourseExercise, list[PageSubmission]], progress: ShowProgress | None = None, seed: int = FIRST_SEED
) -> list[AuditFinding]:
    """Grade submissions on all processors, and return a finding on each that is not graded as its page says.

    Its answers get other codes, or it cannot be graded. They are in the order of the pages.

    Args:
        pages: the submissions by exercise, all of one course.
        progress: called with the page of each submission when it is graded.
        seed: the seed of the trials.
    """
    if not any(pages.values()):
        return []
    course, findings = next(iter(pages)).course, dict[tuple[str, int], AuditFinding]()
    submissions = {(e.id, s.line): (e, s) for e, page in pages.items() for s in page}
    jobs = [(key, (Part(exercise.id, s.source.encode()),)) for key, (exercise, s) in submissions.items()]
    processes = min(os.cpu_count() or 1, 1 + len(jobs) // FEW_SUBMISSIONS)
    with GradingPool(course, "none", processes, seed) as pool:
        for graded in pool.grade(jobs):
            if graded is None:
                continue
            exercise, submission = submissions[graded.key]
            file = f"{PAGES}/{exercise.unit}/{exercise.id}.py"
            if progress is not None:
                progress(file)
            answers = {answer.name: answer for result in graded.results for answer in result.answers}
            codes = {name: answer.code for name, answer in answers.items()}
            problems = [
                f"{name} {'passes' if code is None else f'is {code}'}, not {' or '.join(expected)}"
                + (f' ("{answers[name].message}")' if name in answers and answers[name].message else "")
                for name, (code, expected) in submission.mismatches(codes).items()
            ]
            problems += [graded.failure.rstrip(".")] if graded.failure else []
            if problems:
                says = f"line {submission.line}: {'; '.join(problems)}: correct the submission, or what its head says."
                findings[graded.key] = AuditFinding(file, says)
    return [findings[key] for key in submissions if key in findings]


Task = Callable[[], Iterable[AuditFinding]]


def _numbers_task(exercise: CourseExercise, grader: Grader) -> Task:
    """Return the task that finds what is wrong with the numbers of an exercise."""
    check = (_spec(exercise.unit), f"{exercise.id}: ", lambda: check_numbers(exercise, grader))
    return lambda: _check_exercise(exercise, (check,))


def _lesson_task(course: Course, unit: str) -> Task:
    """Return the task that finds the examples of a unit's lesson that do not print what the lesson shows."""
    file = f"exercises/{unit}/{LESSON}"

    def run() -> Iterator[AuditFinding]:
        """Yield the findings; none if there is no lesson, which `_check_files` reports."""
        if (course.root / file).is_file():
            with one_thread():  # a process that was forked must start no other one
                yield from (AuditFinding(file, says) for says in example_problems(course.root / file))

    return run


@contextmanager
def _in_parallel(tasks: dict[str, Task]) -> Iterator[Callable[[str], Iterable[AuditFinding]]]:
    """Run tasks in other processes while the block runs.

    Args:
        tasks: the tasks, by name.

    Yields:
        A function that returns the findings of the task with this name, and waits for them if need be.
    """
    if sys.platform != "linux":  # what is declared cannot be sent to another process, only inherited
        yield lambda name: tasks[name]()
        return
    pool = ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("fork"), _inherit, (tasks,))
    try:
        futures = {name: pool.submit(_run_inherited, name) for name in tasks}
        yield lambda name: futures[name].result()
    finally:
        pool.shutdown(cancel_futures=True)


_inherited: dict[str, Task]


def _inherit(tasks: dict[str, Task]) -> None:
    """Store the tasks in this process, which runs some of them, and ignore Ctrl-C, which its parent handles."""
    global _inherited
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _inherited = tasks


def _run_inherited(name: str) -> list[AuditFinding]:
    """Return the findings of the task of this name, one of those that `_inherit` stored in this process."""
    return list(_inherited[name]())


def _is_declared(exercise: CourseExercise) -> bool:
    """Return whether the spec can be read and declares the exercise; if not, `_check_declarations` reports it."""
    try:
        return exercise.is_quiz or exercise.id in exercise.course.declarations(exercise.unit)
    except SpecError:
        return False


def _check_declarations(course: Course, unit: Unit) -> Iterator[AuditFinding]:
    """Yield the differences between the exercises that a unit's spec declares and those that `course.yaml` lists.

    A difference in their order is one as well, and so is a spec that cannot be read, or that imports torch. Of
    differences in order only the first is reported.
    """
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
    """Return whether one of a spec's statements imports torch; an import inside a function is made only when that runs.

    Imports inside of blocks, and those of the modules that the spec imports, are not looked at.
    """
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
    """Return the checks of an exercise, except that of its numbers.

    Returns:
        For each check the file that its findings are about, the text that they begin with, and a function that yields
        them.
    """
    spec, solution = _spec(exercise.unit), solution_file(exercise)
    if exercise.is_quiz:
        return (
            (solution, "", lambda: check_quiz(exercise)),
            (exercise.file, "", lambda: _check_stub(exercise, grader, worker)),
            (solution, "", lambda: _check_solution(exercise, grader, worker)),
        )
    return (
        (solution, "", lambda: check_signature(exercise)),
        (exercise.file, "", lambda: _if_callable(exercise, lambda: _check_stub(exercise, grader, worker))),
        (solution, "", lambda: _if_callable(exercise, lambda: _check_solution(exercise, grader, worker))),
        (spec, f"{exercise.id}: ", lambda: check_hints(exercise.function)),
        (spec, f"{exercise.id}: ", lambda: check_giveaways(exercise)),
    )


def _if_callable(exercise: CourseExercise, check: Check) -> Iterator[str]:
    """Yield the findings of a check that calls the worked function.

    Nothing is yielded if that function takes other inputs than declared.
    """
    if takes_declared_inputs(exercise):
        yield from check()


def _check_stub(exercise: CourseExercise, grader: Grader, worker: Worker) -> Iterator[str]:
    """Yield a sentence if the learner's file is out of date, and one on each answer that is not `todo` in the stub."""
    text = stub(exercise)
    if is_stale(exercise.path, text):
        state = "is not what its worked solution gives" if exercise.path.is_file() else "is missing"
        yield f"it {state}: write it with: handgrad build"
    for answer in grader.grade(exercise, text.encode(), worker).answers:
        if answer.status != "todo":
            yield f"in the stub {_describe_verdict(answer)}, not todo: put the marks around all of the answer."


def _check_solution(exercise: CourseExercise, grader: Grader, worker: Worker) -> Iterator[str]:
    """Yield a sentence on each answer that is not right in the worked solution."""
    text = worked_text(exercise) if exercise.is_quiz else "\n".join(read_worked(exercise).lines)
    for answer in grader.grade(exercise, text.encode(), worker).answers:
        if answer.status != "passed":
            yield f"{_describe_verdict(answer)}: {answer.message}; correct the solution or its declaration."


def _describe_verdict(answer: AnswerResult) -> str:
    """Return an answer's name with its code, or with its status if it has no code: "b_g is todo"."""
    return f"{answer.name} is {answer.code or answer.status}"


def _check_files(course: Course) -> Iterator[AuditFinding]:
    """Yield findings on units without lesson or exercises, exercises not in a lesson, and files of no exercise."""
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
        if not any(exercise.unit == unit.id for exercise in course.exercises):
            says = f"{unit.id} has no exercise yet: begin one with: handgrad new EXERCISE --unit {unit.id}"
            yield AuditFinding(COURSE_FILE, f"line {line_of_name(course.root / COURSE_FILE, unit.id)}: {says}")
    known = set(chain.from_iterable((exercise.path, exercise.solution) for exercise in course.exercises))
    known |= {exercise.quiz_keys for exercise in course.exercises if exercise.is_quiz and exercise.quiz_keys.is_file()}
    units = {unit.id for unit in course.config.units}
    for name, folder in (("exercises", course.root / "exercises"), ("solutions", course.solutions)):
        for path in _visible(folder):
            if path not in known and not _is_allowed(PurePosixPath(path.relative_to(folder)), units, name):
                file = f"{name}/{path.relative_to(folder).as_posix()}"
                yield AuditFinding(file, _why_unlisted(path, units))


def _why_unlisted(path: Path, units: set[str]) -> str:
    """Return what to do about a file that belongs to no exercise; `units` are the ids of the units."""
    if path.name == QUIZ_FILE and path.parent.name in units:
        return f"{path.parent.name} has no quiz in {COURSE_FILE}: write `quiz: 1` under its unit, or remove this file."
    return f"it belongs to nothing in {COURSE_FILE}: list its exercise, or remove it."


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
        file: the path of the file, relative to `folder`.
        units: the ids of the units.
        folder: "exercises" or "solutions".
    """
    if file.parts[0] in units:
        patterns = IN_A_UNIT[folder]
    else:
        patterns = ANYWHERE if len(file.parts) == 1 else ()
    return any(file.match(pattern) for pattern in patterns)


class _OutOfTime(BaseException):
    """Ends an example that takes longer than `TIME_LIMIT`; no `except Exception` of the example catches it."""


class SameMeaning(doctest.OutputChecker):
    """Accept an output that says the same as the one that the lesson shows.

    Releases of torch and numpy put other blanks into their arrays, and round the last digit otherwise.
    """

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Return whether outputs have equal text, blanks aside, and numbers that differ by 1 at most in the last digit.

        Args:
            want: the output that the lesson shows.
            got: the output of the example.
            optionflags: doctest's options for the example.
        """
        if super().check_output(want, got, optionflags | doctest.NORMALIZE_WHITESPACE):
            return True
        (words, numbers), (other_words, other_numbers) = _parts(want), _parts(got)
        same_text = super().check_output(words, other_words, optionflags)
        return same_text and len(numbers) == len(other_numbers) and all(map(_agree, numbers, other_numbers))


def _parts(text: str) -> tuple[str, list[str]]:
    """Return a text without its blanks and with `#` in place of each number, and the list of its numbers as text."""
    return "".join(NUMBER.sub("#", text).split()) + "\n", NUMBER.findall(text)


def _agree(number: str, other: str) -> bool:
    """Return whether two numbers differ by at most 1 in the last digit of the one with fewer decimals.

    "0.66" and "0.667" agree, "0.65" and "0.667" do not. Two whole numbers ("7", "7.") must be equal.
    """
    steps = [_last_digit(text) for text in (number, other) if "." in text.rstrip(".") or "e" in text.lower()]
    return abs(float(number) - float(other)) <= 1.01 * max(steps, default=0.0)


def _last_digit(number: str) -> float:
    """Return the value of one unit in the last digit of a number: 0.01 for "3.14"."""
    digits, _, exponent = number.lower().partition("e")
    return float(10.0 ** (int(exponent or 0) - len(digits.partition(".")[2])))


class _ProblemRunner(doctest.DocTestRunner):
    """Run examples, and keep a clause for each that does not print what is shown."""

    def __init__(self) -> None:
        """Begin with no problems."""
        super().__init__(SameMeaning(), optionflags=doctest.ELLIPSIS)
        self.problems: list[str] = []

    def report_start(self, out: Any, test: doctest.DocTest, example: doctest.Example) -> None:
        """Allow each example `TIME_LIMIT` seconds from its start; doctest calls it."""
        _set_alarm(TIME_LIMIT)

    def report_failure(self, out: Any, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        """Add the problem that an example prints `got`, and not the text that the lesson shows; doctest calls it."""
        self._add(example, f"prints {_in_one_line(got)}, and not {_in_one_line(example.want)}")

    def report_unexpected_exception(
        self, out: Any, test: doctest.DocTest, example: doctest.Example, exc_info: Any
    ) -> None:
        """Add the problem that an example raises or does not end; doctest calls it.

        After an example that does not end, the others are not run.
        """
        if exc_info[0] is _OutOfTime:
            self.optionflags |= doctest.FAIL_FAST
            self._add(example, f"does not end within {TIME_LIMIT:g} seconds")
            return
        self._add(example, f"raises {_in_one_line(traceback.format_exception_only(*exc_info[:2])[-1])}")

    def _add(self, example: doctest.Example, problem: str) -> None:
        """Add a clause on an example to `problems`: its line in the lesson, its code, the problem, the next step."""
        self.problems.append(
            f"line {example.lineno + 1}: `{_in_one_line(example.source)}` {problem}: correct the example or its output."
        )


def example_problems(lesson: Path) -> Iterator[str]:
    """Yield a clause on each example of a lesson, after `>>>`, that does not print what the lesson shows.

    The examples are run one after the other, in this process. One that does not end is stopped, and those after it are
    not run; on Windows, and outside of the main thread, nothing can stop it.

    Args:
        lesson: the path of the lesson.
    """
    text = FENCE.sub("", lesson.read_text(encoding="utf-8", errors="replace"))  # an output ends at an empty line
    try:
        examples = doctest.DocTestParser().get_doctest(text, {}, lesson.parent.name, str(lesson), 0)
    except ValueError as error:
        yield f"an example cannot be read ({_in_one_line(str(error))}): correct it."
        return
    runner = _ProblemRunner()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a lesson may show what PyTorch warns of
        with _alarm(), one_thread():  # several threads wait for one another where other programs are busy
            runner.run(examples)
    yield from runner.problems


@contextmanager
def _alarm() -> Iterator[None]:
    """Let the alarms of `_set_alarm` raise `_OutOfTime` inside the block.

    At its end the alarm is off and the former handler is back. Where no alarm can interrupt Python, nothing is done.
    """
    if not _can_interrupt():
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise_out_of_time)
    try:
        yield
    finally:
        _set_alarm(0.0)
        signal.signal(signal.SIGALRM, before)


def _raise_out_of_time(number: int, frame: object) -> None:
    """Raise `_OutOfTime`; the handler of an alarm, whose number and frame are not used."""
    raise _OutOfTime


def _set_alarm(seconds: float) -> None:
    """Send this process an alarm in so many seconds, and another one each second after it; none for 0."""
    if _can_interrupt():
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0 if seconds else 0.0)


def _can_interrupt() -> bool:
    """Return whether an alarm can interrupt what runs here."""
    return hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()


def _in_one_line(text: str) -> str:
    """Return the words of a text in one line, cut to 80 characters; "nothing" if there are none."""
    line = " ".join(text.split()) or "nothing"
    return line if len(line) <= 80 else f"{line[:77]}..."

"""What the tests share: the real course, a warm worker, one learner's file at a time, and the order of the tests."""

from __future__ import annotations

import functools
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
import typer.main
from hypothesis import settings

from grader.authoring.build import worked_text
from grader.child import protocol
from grader.cli import main as cli
from grader.course.course import Course, CourseExercise, load_course
from grader.judging import grading_pool
from grader.judging.lazy_grader import new_grader
from grader.learner import workspace
from grader.results.records import ExerciseResult
from grader.sandbox.isolation import Isolation, choose, machine
from grader.sandbox.worker import MODE_VARIABLE, Reply, Worker, start_worker

if TYPE_CHECKING:  # it imports torch, which takes a second of the process that only deals out the tests
    from grader.judging.grading import Grader

ROOT = Path(__file__).resolve().parent.parent

# Tests import `helpers`, and the thorough ones what modules of other folders share, whichever file is run alone.
FOLDERS = [Path(__file__).parent, *sorted({path.parent for path in Path(__file__).parent.glob("[a-z]*/test_*.py")})]
sys.path[:0] = [str(folder) for folder in FOLDERS if str(folder) not in sys.path]

TIME_LIMIT = 20.0  # seconds: for honest code, on a machine that has much else to do
HANGING = 0.5  # for what never ends
AT_ONCE = 5.0  # processor seconds: a mistake would take minutes, and a busy machine takes more of them than a quiet one
ONE_CLASS = ("test_nbgrader_autograde.py", "test_nbgrader_forgery.py", "test_nbgrader_traps.py")
"""The files that look at one class, `graded_class`, which takes long to grade."""
OF_ONE_FILE = (
    "nbgrader notebook_kernel class_grading cli sandbox measuring every_exercise every_forgery every_release "
    "cluster real_kernel".split()
)
"""How the names of files begin, after `test_`, whose tests share what takes long to make."""
OF_ONE_PAGE = ("test_learners.py", "test_every_check_and_grade.py")
"""The files whose tests of one exercise share what was computed of it."""
ISOLATED = ("test_isolation.py", "test_autograd_removal.py")
"""The files whose tests share a worker that takes long to start."""
PAGE = re.compile(r"\[(\d\d_\w+/\w+)")
LONGEST = "fifty_kills nbgrader_stock nbgrader_processes random_order undeclared cluster".split()
"""How the names of the thorough files begin that take longest: whoever begins one last would end alone."""
SEED = 20240917

Grade = Callable[..., ExerciseResult]
Typed = Callable[..., subprocess.CompletedProcess[str]]


def with_policy(course: Course, **changes: object) -> Course:
    """The same course, with the declarations that were read already, under another policy."""
    policy = course.policy.model_copy(update=changes)
    return replace(course, config=course.config.model_copy(update={"policy": policy}), _specs=dict(course._specs))


def with_units_before(course: Course, unit: str) -> Course:
    """A learner's folder, without this unit and those after it."""
    declared = course.root / "course.yaml"
    declared.write_text(declared.read_text(encoding="utf-8").partition(f"  - id: {unit}")[0], encoding="utf-8")
    for folder in (course.root / "exercises").glob("*_*"):
        if folder.name >= unit:
            shutil.rmtree(folder)
    return load_course(course.root)


# A shell that starts this in the background has it ignore Ctrl-C, and so would everything it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Every run draws the same examples; `--hypothesis-profile fresh` goes looking for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("fresh", deadline=None)
settings.load_profile("same")

# What these tests read must not depend on where they run: pytest words its summary differently in CI.
for name in ("CI", "BUILD_NUMBER", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "ACCESSIBLE", MODE_VARIABLE):
    os.environ.pop(name, None)
if os.environ.get("TERM") == "dumb":  # plain mode, as in many a log
    del os.environ["TERM"]

# Programs that tests start compile the sources once, not each of them anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The processes that share the tests share the processors too: threads that wait for each other take a fifth on top.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# jsonschema would compile a grammar of addresses, which takes a second of each process and is asked by nobody.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# Each command that a test types would be put together anew from what is declared.
typer.main.get_command = functools.cache(typer.main.get_command)

# nbgrader asks for its database tool by name, which an environment that is not activated does not find.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


NEEDS = {
    "worker": 1,
    "each_worker": 2,
}  # a warm process, one of each kind; whoever starts a program says so with `slow`


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: starts programs or waits for them; it comes after everything else.")
    config.addinivalue_line("markers", "needs(*programs): is skipped on a machine where one of these is not installed.")


def pytest_collection_finish() -> None:
    """Leave what is there by now out of every collection of garbage: each run of pytest within a test makes five."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """What is left is collected once here, not ten times by pytest, which looks for errors that nobody raised."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", metavar="K/N", help="the K-th of N parts of the tests, each about as long")
    parser.addoption("--no-skips", action="store_true", help="a test that is skipped has failed")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose programs are not installed, with the reason."""
    needed = [program for marker in item.iter_markers("needs") for program in marker.args]
    if lacking := [program for program in needed if shutil.which(program) is None]:
        pytest.skip(f"not installed here: {', '.join(lacking)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Under `--no-skips`, have a test that is skipped fail."""
    report = yield
    return _no_skip(item.config, report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Under `--no-skips`, have a file that is skipped as a whole fail."""
    report = yield
    return _no_skip(collector.config, report)


def _no_skip(config: pytest.Config, report: Any) -> Any:
    if config.option.no_skips and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"{reason}: under --no-skips nothing may be skipped"
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The fast ones first, so that a mistake shows within seconds: what needs no process, then what needs a worker.

    The thorough suite begins with its longest.
    """
    if config.option.part:
        part, parts = map(int, config.option.part.split("/"))
        longest_first = sorted(items, key=lambda item: not _begins(item.path.name, LONGEST))
        mine = set(list(dict.fromkeys(map(_dealt_as, longest_first)))[part - 1 :: parts])
        left = [item for item in items if _dealt_as(item) not in mine]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if _dealt_as(item) in mine]
    items.sort(key=_cost)


def _dealt_as(item: pytest.Item) -> str:
    """What is in one part: a test, or a file whose tests share what takes long to make."""
    return item.path.name if _begins(item.path.name, OF_ONE_FILE) else item.nodeid


def _cost(item: pytest.Item) -> int:
    if item.path.parent.name == "thorough" and _begins(item.path.name, LONGEST):
        return -1
    needed = (NEEDS.get(name, 0) for name in getattr(item, "fixturenames", ()))
    return max(needed, default=0) if item.get_closest_marker("slow") is None else max(NEEDS.values()) + 1


def _begins(file: str, names: Sequence[str]) -> bool:
    """Whether a test file's name begins so, after `test_`."""
    return file.startswith(tuple(f"test_{name}" for name in names))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Several processes share the tests: function by function, the thorough ones one by one.

    What shares a page of the corpus, a class or a worker stays together.
    """
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # else the largest groups come first

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if file.endswith(ONE_CLASS) and "thorough" not in file:
                return "one class"
            if Path(file).name in OF_ONE_PAGE and (page := PAGE.search(nodeid)):
                return page[1]
            if Path(file).name in ISOLATED:
                return "isolated"
            if _begins(Path(file).name, OF_ONE_FILE):
                return file
            return nodeid if "thorough" in file else nodeid.partition("[")[0]

    return Scheduling(config, log)


@pytest.fixture(scope="session")
def course() -> Course:
    """The real course, with a time limit that no honest file meets."""
    return with_policy(load_course(ROOT), time_limit=TIME_LIMIT)


@pytest.fixture(scope="session")
def exercises(course: Course) -> list[CourseExercise]:
    """The last exercise of each unit; `thorough/test_every_exercise.py` has all of them."""
    last = {exercise.unit: exercise for exercise in course.exercises if not exercise.is_quiz}
    return list(last.values())


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learner's new folder, made once."""
    return workspace.init(tmp_path_factory.mktemp("template") / "ws").root


@pytest.fixture
def new_workspace(template: Path) -> Callable[[Path], Course]:
    """`new_workspace(folder)`: what `handgrad init` makes there, copied."""
    return lambda folder: load_course(Path(shutil.copytree(template, folder)))


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """The command inside this process: `typed("check", "slope", cwd=folder, columns=60)`."""
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str, cwd: Path | None = None, columns: int = 80) -> subprocess.CompletedProcess[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "argv", ["handgrad", *arguments])
        if cwd is not None:
            monkeypatch.chdir(cwd)
        capfd.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err, err
        return subprocess.CompletedProcess(list(arguments), code, out, err)

    return run


@pytest.fixture(scope="session")
def worker(warm: Callable[[str], Worker]) -> Worker:
    """One warm worker of this platform's default mode for the whole session."""
    return warm(MODES[0])


@pytest.fixture(scope="session")
def grader() -> Grader:
    """One grader for the whole session, so that references are computed once."""
    return new_grader(SEED)


class Lent:
    """A warm worker that one grading process after the other asks."""

    def __init__(self, worker: Worker) -> None:
        self.worker, self.isolation, self.pid = worker, worker.isolation, worker.pid

    def run(self, job: bytes, time_limit: float) -> Reply:
        return self.worker.run(job, time_limit)

    def close(self) -> None: ...

    def __enter__(self) -> Lent:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def warm_pool(warm: Callable[[str], Worker], worker: Worker, grader: Grader) -> Iterator[None]:
    """Classes are graded, by one process, with a warm worker and the references of the whole session."""

    def lent(isolation: Isolation) -> Lent:
        chosen = worker if isolation == "none" else warm(isolation)
        chosen.run(make_job("def probe(): pass", {}), TIME_LIMIT)  # it says that it is ready: nobody else will hear it
        return Lent(chosen)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grading_pool, "start_worker", lent)
        patch.setattr(grading_pool, "new_grader", lambda seed: grader)
        yield


@pytest.fixture
def grade(course: Course, worker: Worker, grader: Grader) -> Grade:
    """`grade("lin_grad", source)`: the verdict on a learner's source text, bytes, or `None` for no file."""

    def graded(exercise_id: str, content: str | bytes | None, **changed: Any) -> ExerciseResult:
        """A verdict, with another `seed` or `time_limit` if one is given."""
        data = content.encode() if isinstance(content, str) else content
        chosen = new_grader(changed["seed"]) if "seed" in changed else grader
        limited = with_policy(course, time_limit=changed["time_limit"]) if "time_limit" in changed else course
        return chosen.grade(limited.find(exercise_id), data, worker)

    return graded


def words_of(source: str) -> str:
    """The message of the exception that a line raises here: Python and torch word theirs anew from time to time."""
    with pytest.raises(Exception) as raised:  # noqa: PT011
        exec(source, {})
    return raised.value.msg if isinstance(raised.value, SyntaxError) else str(raised.value)


def codes(result: ExerciseResult) -> dict[str, str | None]:
    """The code of each answer, `None` where it passed."""
    return {answer.name: answer.code for answer in result.answers}


def solution(course: Course, exercise_id: str) -> bytes:
    """The worked solution of an exercise."""
    exercise = course.find(exercise_id)
    return worked_text(exercise).encode() if exercise.is_quiz else exercise.solution.read_bytes()


@pytest.fixture(scope="session")
def graded_class(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A class graded by nbgrader, to be looked at: what changes something works on a copy."""
    from helpers.nbgrader_students import SOME_WORTH, make_class  # imports nbgrader, which takes seconds

    return make_class(tmp_path_factory.mktemp("class"), SOME_WORTH)


MODES = ("fork", "spawn") if sys.platform == "linux" else ("spawn",)


@pytest.fixture(scope="session")
def warm() -> Iterator[Callable[[str], Worker]]:
    """`warm("spawn")`, `warm("box")`: one warm worker of each mode and isolation, started when first asked for."""
    with ExitStack() as open_workers:
        yield functools.cache(lambda kind: open_workers.enter_context(worker_of(kind)))


@pytest.fixture(params=MODES)
def each_worker(request: pytest.FixtureRequest, warm: Callable[[str], Worker]) -> Worker:
    """The session's warm worker of each mode that this platform has."""
    return warm(request.param)


@pytest.fixture
def isolation() -> Isolation:
    """The strongest isolation of this machine; the thorough tests go through all of them."""
    return strongest()


@pytest.fixture
def isolated(isolation: Isolation, warm: Callable[[str], Worker]) -> Worker:
    """The session's warm worker whose children are isolated so."""
    return warm(isolation)


@functools.cache
def strongest() -> Isolation:
    """The isolation that a graded run has here."""
    return choose(machine())


def worker_of(kind: str) -> AbstractContextManager[Worker]:
    """A new worker of a mode, `fork` or `spawn`, or of an isolation."""
    return mode_worker(kind) if kind in MODES else start_worker(cast(Isolation, kind))


@contextmanager
def mode_worker(mode: str) -> Iterator[Worker]:
    """A worker of exactly this mode, whatever the environment asks for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODE_VARIABLE, mode)
        started = start_worker("none")
    with started:
        yield started


def make_job(
    source: str, *argument_sets: dict[str, Any], function: str = "probe", time_limit: float = 5.0, meter: bool = False
) -> bytes:
    """A job frame that calls `function` once with each set of arguments; float arrays become tensors."""
    arrays: list[np.ndarray] = []

    def sent(value: Any) -> Any:
        if isinstance(value, tuple):
            arrays.extend(value)
            return {"tensor": len(arrays) - 2, "g": len(arrays) - 1}
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return {"tensor": len(arrays) - 1, "g": None}
        return value if isinstance(value, dict) else {"literal": repr(value)}

    calls = [
        {"arguments": [[name, sent(value)] for name, value in arguments.items()], "meter": meter}
        for arguments in argument_sets
    ]
    header = {
        "cells": [textwrap.dedent(source)],
        "cell_limit": None,
        "filename": "probe.py",
        "function": function,
        "time_limit": time_limit,
        "memory_limit": 512,
        "calls": calls,
    }
    return protocol.pack(header, arrays)

"""`pytest exercises/`: every answer of every exercise file is a test item, in teaching order.

Collecting reads course.yaml and the specs, never torch; learner files are not imported here at all, they run in
a worker process that starts while pytest collects.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .course import Course, CourseExercise
    from .render import Line
    from .results import AnswerResult, ExerciseResult
    from .sandbox import Worker
    from .session import Session

SITTINGS = pytest.StashKey["dict[Path, Sitting]"]()
EXERCISES, COURSE = "exercises", "course.yaml"
MARKUP: dict[str, dict[str, bool]] = {
    "bold": {"bold": True},
    "good": {"green": True},
    "bad": {"red": True},
    "todo": {"yellow": True},
    "dim": {"light": True},
}


class Sitting:
    """One course within one pytest run.

    Args:
        root: the course folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.worker: Worker | None = None
        self.seen: dict[str, ExerciseResult] = {}
        self.strays: list[Path] = []

    @cached_property
    def session(self) -> Session:
        from .course import load_course
        from .errors import HandgradError
        from .session import Session

        try:
            return Session(load_course(self.root), self.worker)
        except HandgradError as error:
            raise pytest.exit.Exception(str(error), returncode=error.exit_code) from None

    @property
    def course(self) -> Course:
        return self.session.course

    def answers(self, exercise: CourseExercise) -> list[str]:
        """The names of an exercise's answers, from its spec."""
        from .errors import HandgradError

        try:
            return [answer.name for answer in exercise.declaration.answers]
        except HandgradError as error:
            raise pytest.exit.Exception(str(error), returncode=error.exit_code) from None


class ExerciseFile(pytest.File):
    """A learner's file; its items are the answers of the exercise."""

    exercise: CourseExercise
    sitting: Sitting

    def collect(self) -> Iterable[AnswerItem]:
        for name in self.sitting.answers(self.exercise):
            yield AnswerItem.from_parent(self, name=name)

    @cached_property
    def result(self) -> ExerciseResult:
        """The verdict on the whole file, asked for once."""
        from .errors import HandgradError

        try:
            return self.sitting.session.check(self.exercise)
        except HandgradError as error:
            raise pytest.exit.Exception(str(error), returncode=error.exit_code) from None


class NotYet(Exception):
    """An answer that has not passed; carries its result."""

    def __init__(self, answer: AnswerResult) -> None:
        super().__init__(answer.message)
        self.answer = answer


class AnswerItem(pytest.Item):
    """One answer of one exercise file."""

    parent: ExerciseFile

    def runtest(self) -> None:
        answer = next(a for a in self.parent.result.answers if a.name == self.name)
        if self.parent.result.printed.strip():
            self.add_report_section("call", "what your code printed", self.parent.result.printed)
        if answer.status != "passed":
            raise NotYet(answer)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NotYet):
            return Report(self, excinfo.value.answer)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.parent.exercise.file}::{self.name}"


class Report:
    """What a learner reads of one failed answer; pytest prints it where a traceback would stand."""

    def __init__(self, item: AnswerItem, answer: AnswerResult) -> None:
        self.exercise, self.answer = item.parent.exercise, answer
        self.seen = item.parent.sitting.session.progress.hints_seen(self.exercise, answer)
        self.reprcrash = SimpleNamespace(message=f"{answer.code}: {answer.message}")
        self.same_as = _same_before(item.parent.result, answer)

    def lines(self, width: int) -> Iterator[Line]:
        from .render import failure

        if self.same_as:
            yield ((f"the same as {self.same_as} above", "bad"),)
        else:
            yield from failure(self.exercise, self.answer, width, self.seen)

    def toterminal(self, tw: Any) -> None:
        for line in self.lines(tw.fullwidth):
            _write(tw, line)

    def __str__(self) -> str:
        from .render import as_text

        return as_text(self.lines(100))


def _same_before(result: ExerciseResult, answer: AnswerResult) -> str:
    """The name of an earlier answer that failed for the very same reason."""
    for earlier in result.answers:
        if earlier.name == answer.name:
            break
        if (earlier.code, earlier.message, earlier.evidence) == (answer.code, answer.message, answer.evidence):
            return earlier.name
    return ""


def _write(tw: Any, line: Line) -> None:
    for text, style in line:
        tw.write(text, **MARKUP.get(style, {}))
    tw.line()


def _root_of(path: Path) -> Path | None:
    """The course folder of a file laid out as `<course>/exercises/<unit>/<file>`."""
    root = path.parent.parent.parent
    return root if path.parent.parent.name == EXERCISES and (root / COURSE).is_file() else None


def _sitting(config: pytest.Config, root: Path) -> Sitting:
    sittings = config.stash.setdefault(SITTINGS, {})
    return sittings.setdefault(root, Sitting(root))


def pytest_configure(config: pytest.Config) -> None:
    """Start the worker before anything is collected, if exercises were asked for."""
    controls_others = bool(getattr(config.option, "numprocesses", None)) and not hasattr(config, "workerinput")
    if config.option.collectonly or controls_others or config.option.help or config.option.version:
        return
    folders = {_exercises_folder(config, argument) for argument in config.args}
    for root in {folder.parent for folder in folders if folder and (folder.parent / COURSE).is_file()}:
        from .sandbox import start_worker

        _sitting(config, root).worker = start_worker()


def _exercises_folder(config: pytest.Config, argument: str) -> Path | None:
    """The folder of exercises that a command-line argument lies in: `exercises/`, with numbered units in it."""
    path = (config.invocation_params.dir / argument.split("::")[0]).resolve()
    for folder in (path, *path.parents):
        if folder.name == EXERCISES and any(folder.glob("[0-9][0-9]_*")):
            return folder
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, Any, Any]:
    """Take exercise files out of the hands of every other collector: they are never imported here."""
    collected = yield
    root = _root_of(file_path) if file_path.suffix == ".py" else None
    if root is None:
        return collected
    sitting = _sitting(parent.config, root)
    exercise = sitting.course.at(file_path)
    if exercise is None:
        sitting.strays.append(file_path)
        return []
    return [_file(parent, sitting, exercise, file_path)]


def _file(parent: pytest.Collector, sitting: Sitting, exercise: CourseExercise, path: Path) -> ExerciseFile:
    file: ExerciseFile = ExerciseFile.from_parent(parent, path=path)
    file.exercise, file.sitting = exercise, sitting
    return file


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add items for exercise files that are missing, and put all exercises in teaching order."""
    for sitting in config.stash.get(SITTINGS, {}).values():
        items += _missing(session, config, sitting, items)
    places = [i for i, item in enumerate(items) if isinstance(item, AnswerItem)]
    ordered = sorted((items[i] for i in places), key=_teaching_order)
    for place, item in zip(places, ordered, strict=True):
        items[place] = item


def pytest_collection_finish(session: pytest.Session) -> None:
    """Drop hypothesis's plugin where only exercises run: at the end it would import all of hypothesis for nothing."""
    manager = session.config.pluginmanager
    if all(isinstance(item, AnswerItem) for item in session.items) and "hypothesis" not in sys.modules:
        plugin = manager.get_plugin("hypothesispytest")
        if plugin is not None:
            manager.unregister(plugin)


def _teaching_order(item: pytest.Item) -> tuple[str, int]:
    assert isinstance(item, AnswerItem)
    return str(item.parent.sitting.root), item.parent.sitting.course.exercises.index(item.parent.exercise)


def _missing(
    session: pytest.Session, config: pytest.Config, sitting: Sitting, items: list[pytest.Item]
) -> Iterator[pytest.Item]:
    present = {item.parent.exercise for item in items if isinstance(item, AnswerItem)}
    folders = [(config.invocation_params.dir / a.split("::")[0]).resolve() for a in config.args if "::" not in a]
    for exercise in sitting.course.exercises:
        asked_for = any(folder in exercise.path.parents for folder in folders)
        if exercise not in present and asked_for and not exercise.path.exists():
            yield from _file(session, sitting, exercise, exercise.path).collect()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Attach the result, so that it also travels from an xdist worker to the controller."""
    report = yield
    if isinstance(item, AnswerItem) and call.when == "call" and "result" in vars(item.parent):
        from .results import exercise_to_json

        answer = next(a for a in item.parent.result.answers if a.name == item.name)
        report.handgrad = {
            "root": str(item.parent.sitting.root),
            "status": answer.status,
            "exercise": exercise_to_json(item.parent.result),
        }
    return report


def pytest_report_teststatus(report: Any) -> Any:
    """TODO is a status of its own: not a pass, and not yet a failure."""
    if getattr(report, "handgrad", {}).get("status") == "todo":
        return "todo", "T", ("TODO", {"yellow": True})
    return None


class Recorder:
    """Collects results in the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: Any) -> None:
        from .results import exercise_from_json

        if found := getattr(report, "handgrad", None):
            result = exercise_from_json(found["exercise"])
            _sitting(self.config, Path(found["root"])).seen[result.id] = result


def pytest_sessionstart(session: pytest.Session) -> None:
    """Open the courses asked for: one that cannot be used ends the run here, with one sentence."""
    for argument in session.config.args:
        folder = _exercises_folder(session.config, argument)
        if folder is not None and _root_of(folder / "unit" / "file") is None:
            message = f"There is no course.yaml in {folder.parent}: put it back, or run handgrad init in a new folder."
            raise pytest.exit.Exception(message, returncode=2)
        if folder is not None:
            _ = _sitting(session.config, folder.parent).session
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Recorder(session.config), "handgrad-recorder")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """An error of the grader itself is exit code 3."""
    results = [r for sitting in session.config.stash.get(SITTINGS, {}).values() for r in sitting.seen.values()]
    if any(result.status == "error" for result in results):
        session.exitstatus = 3


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """A progress bar for each unit touched, and the next thing to do."""
    for sitting in config.stash.get(SITTINGS, {}).values():
        if sitting.seen or sitting.strays:
            _summarise(terminalreporter, sitting)


def _summarise(terminalreporter: Any, sitting: Sitting) -> None:
    from .progress import by_unit, next_exercise
    from .render import bars, next_step

    course, progress = sitting.course, sitting.session.progress
    for exercise in course.exercises:
        if exercise.id in sitting.seen:
            progress.record(exercise, sitting.seen[exercise.id])
    if sitting.seen:
        progress.save()
    touched = [exercise for exercise in course.exercises if exercise.id in sitting.seen]
    terminalreporter.section("progress", sep="-")
    tw = terminalreporter._tw
    for line in bars(by_unit(course, progress, [exercise.unit for exercise in touched]), tw.fullwidth):
        _write(tw, line)
    _write(tw, next_step(next_exercise(progress, touched) or next_exercise(progress, course.exercises)))
    for note in (*progress.notes, *map(_stray, sitting.strays)):
        _write(tw, ((note, "todo"),))


def _stray(path: Path) -> str:
    return f"{path.name} in {path.parent.name} is no exercise of this course: it was left alone; move or rename it."


def pytest_unconfigure(config: pytest.Config) -> None:
    for sitting in config.stash.get(SITTINGS, {}).values():
        if "session" in vars(sitting):
            sitting.session.close()
        elif sitting.worker is not None:
            sitting.worker.close()

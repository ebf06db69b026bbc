"""`pytest exercises/`: every answer of every exercise file is a test item, in teaching order.

Collecting reads course.yaml and the specs, never torch; learner files are not imported here at all, they run in
a worker process that starts while pytest collects. `pytest_plugin` registers this plugin where there is a course.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from .pytest_folders import QUIZ, exercises_folder, holds_course, is_exercise_file, named_path
from .pytest_items import AnswerItem, AnswerOutcome, CourseRun, ExerciseFile, Report
from .pytest_screen import fold_units, missing_stub, summarise

COURSE_RUNS = pytest.StashKey[dict[Path, CourseRun]]()


def _course_run(config: pytest.Config, root: Path) -> CourseRun:
    """Return this run's state of the course in `root`, which is created at the first call."""
    return config.stash.setdefault(COURSE_RUNS, {}).setdefault(root, CourseRun(root))


def _course_runs(config: pytest.Config) -> list[CourseRun]:
    """Return this run's state of each course that the run has checked or looked at so far."""
    return list(config.stash.get(COURSE_RUNS, {}).values())


def check_arguments(config: pytest.Config) -> int | None:
    """Check, before pytest does, that each command-line argument names something in its course.

    Returns:
        The exit code if the course cannot be read or an argument names nothing in it, after one sentence on stderr
        that says why; `None` if pytest can go on.
    """
    from grader.errors import HandgradError

    try:
        for argument in config.args:
            path = named_path(config, argument)
            folder = exercises_folder(path)
            if folder is not None and holds_course(config, folder.parent):
                _open_course(config, folder.parent, argument)
            elif folder is None and holds_course(config, path):
                _check_argument(_course_run(config, path), path, argument)
            elif folder is None and not os.path.exists(path):
                _reject_id(config, argument)
    except HandgradError as error:
        pytest_unconfigure(config)  # pytest does not: it never began
        print(f"handgrad: {error}", file=sys.stderr)
        return error.exit_code
    return None


def _open_course(config: pytest.Config, root: Path, argument: str) -> None:
    """Check that the course has what an argument names, and start the worker in advance.

    Args:
        config: pytest's configuration.
        root: the folder of the course.
        argument: a command-line argument.

    Raises:
        UsageError: the course has no such exercise, unit or answer.
    """
    course_run = _course_run(config, root)
    path = named_path(config, argument)
    controls_others = bool(getattr(config.option, "numprocesses", None)) and not hasattr(config, "workerinput")
    if course_run.worker is None and not (path.name == QUIZ or config.option.collectonly or controls_others):
        from grader.sandbox.worker import start_worker

        course_run.worker = start_worker("none")
    _check_argument(course_run, path, argument)


def _check_argument(course_run: CourseRun, path: Path, argument: str) -> None:
    """Check that the course has the exercise, unit or answer that a command-line argument names.

    Args:
        course_run: the course.
        path: the path in the argument, resolved.
        argument: the argument as it was typed, perhaps with `::` and an answer.

    Raises:
        UsageError: the course has nothing of this name; the message says what to name instead.
    """
    from grader.errors import UsageError

    exercises = [e for e in course_run.course.exercises if path == e.path or path in e.path.parents]
    if not exercises and not path.exists():
        raise UsageError(missing_stub(course_run.course.find(argument)))
    if not exercises and is_exercise_file(str(path)):
        raise UsageError(f"{path.name} in {path.parent.name} is no exercise of this course. See them: handgrad list")
    for exercise in exercises:
        names = exercise.answer_names
        answer_name = argument.split("::")[1] if "::" in argument else names[0]
        if path == exercise.path and not path.exists():
            raise UsageError(missing_stub(exercise))
        if answer_name not in names:
            raise UsageError(f"{exercise.file} has no answer {answer_name!r}; it has {', '.join(names)}.")


def _reject_id(config: pytest.Config, argument: str) -> None:
    """Refuse an argument that is the id of an exercise or unit of the course around, since pytest takes paths.

    Raises:
        UsageError: the argument is such an id; the message gives the path to name.
    """
    from grader.errors import UsageError

    here = config.invocation_params.dir
    root = next((folder for folder in (here, *here.parents) if holds_course(config, folder)), None)
    named = argument.split("::")[0]
    for exercise in () if root is None else _course_run(config, root).course.exercises:
        path = {exercise.id: exercise.path, exercise.unit: exercise.path.parent}.get(named)
        if path is not None:
            raise UsageError(f"pytest takes a path: name {os.path.relpath(path, here)}")


def collectors(parent: pytest.Collector, file_path: Path) -> list[ExerciseFile]:
    """Return the collector of an exercise's or a quiz's file; empty for any other file, which is noted as a stray.

    Raises:
        CollectError: the course cannot be read; raised for the first file in the run alone.
    """
    from grader.errors import HandgradError

    course_run = _course_run(parent.config, file_path.parent.parent.parent)
    if course_run.is_broken:
        return []
    try:
        exercise = course_run.course.exercise_at(file_path)
    except HandgradError as error:
        course_run.is_broken = True
        raise pytest.Collector.CollectError(str(error)) from None
    if exercise is None:
        course_run.strays.append(file_path)
        return []
    return [ExerciseFile.of(parent, course_run, exercise)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add items for exercise files that are missing, and sort all exercises into teaching order."""
    for course_run in _course_runs(config):
        if not course_run.is_broken:
            items += _items_for_missing_files(session, config, course_run)
    places = [i for i, item in enumerate(items) if isinstance(item, AnswerItem)]
    ordered = sorted((items[i] for i in places), key=_teaching_order)
    for place, item in zip(places, ordered, strict=True):
        items[place] = item


def _teaching_order(item: pytest.Item) -> tuple[str, int]:
    """Return the sort key of an item: its course, and the place of its exercise there."""
    assert isinstance(item, AnswerItem)
    return str(item.parent.course_run.root), item.parent.course_run.course.exercises.index(item.parent.exercise)


def _items_for_missing_files(
    session: pytest.Session, config: pytest.Config, course_run: CourseRun
) -> Iterator[pytest.Item]:
    """Yield the items of each exercise below the requested folders whose file does not exist, or is no regular file."""
    folders = [named_path(config, argument) for argument in config.args if "::" not in argument]
    for exercise in course_run.course.exercises:
        is_selected = any(folder == exercise.path or folder in exercise.path.parents for folder in folders)
        if is_selected and not exercise.path.is_file():
            yield from ExerciseFile.of(session, course_run, exercise).collect()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Have untouched units shown in one line each, unregister unused plugins, and note which files will be checked."""
    _drop_plugins(session)
    if not hasattr(session.config, "workerinput"):  # a process of pytest-xdist is given files one by one
        for file in dict.fromkeys(item.parent for item in session.items if isinstance(item, AnswerItem)):
            file.course_run.expected.append(file.exercise)
    fold_units(session, {named_path(session.config, argument) for argument in session.config.args})


def _drop_plugins(session: pytest.Session) -> None:
    """Unregister pytest's logging and hypothesis plugins if only exercises run, which use neither.

    The hypothesis plugin would import all of hypothesis at the end of the run.
    """
    config = session.config
    if not session.items or not all(isinstance(item, AnswerItem) for item in session.items):
        return
    logs = config.option.log_file or config.option.log_cli_level or config.getini("log_cli")
    unused = ([] if logs else ["logging-plugin"]) + ([] if "hypothesis" in sys.modules else ["hypothesispytest"])
    for name in filter(config.pluginmanager.has_plugin, unused):
        config.pluginmanager.unregister(name=name)


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    """Pass pytest-timeout's limit on to learner code, and keep the plugin from setting a timer of its own.

    Its signal would interrupt the grader, and its time would count the import of torch as the first answer's.

    Returns:
        True for an answer, which ends the hook; `None` for any other item.
    """
    if not isinstance(item, AnswerItem):
        return None
    item.parent.outer_limit = settings.timeout
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Attach the outcome of an answer to pytest's report on its item, as `report.handgrad`; return the report."""
    report = yield
    if isinstance(item, AnswerItem) and call.when == "call" and "result" in vars(item.parent):
        report.handgrad = AnswerOutcome(item.parent.course_run.root, item.name, item.parent.result)
        if item.answer.status == "todo":  # skipped, and so no failure to whoever counts these; the exit code is still 1
            report.outcome, report.longrepr = "skipped", (str(item.path), item.line + 1, item.answer.message)
        item.user_properties += [("exercise", item.parent.exercise.id), ("status", item.answer.status)]
        if item.parent.result.printed.strip() and item.config.option.capture != "no":
            report.sections.append(("your code printed", item.parent.result.printed))
    return report


def pytest_report_teststatus(report: Any) -> Any:
    """Return the status TODO, which is neither a pass nor a failure, for an answer that is not begun; else `None`."""
    outcome: AnswerOutcome | None = getattr(report, "handgrad", None)
    if outcome is None or outcome.status != "todo":
        return None
    if outcome.is_folded:
        return "todo", "", ("TODO", {})
    return "todo", "T", ("TODO", {"yellow": True})


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(report: Any) -> Generator[None, Any, Any]:
    """Put the outcome of an answer as JSON values under "handgrad" in what an xdist worker sends; return these data."""
    data = yield
    if isinstance(data, dict) and isinstance(data.get("handgrad"), AnswerOutcome):
        data["handgrad"] = data["handgrad"].as_json()
    return data


def restore_outcome(report: Any) -> None:
    """Replace the JSON values in `report.handgrad`, which an xdist worker has sent, with an `AnswerOutcome`."""
    report.handgrad = AnswerOutcome.from_json(report.handgrad)


class Recorder:
    """Collect results in the process that reports, and make a report of each failure in an xdist worker.

    Args:
        config: pytest's configuration.
    """

    def __init__(self, config: pytest.Config) -> None:
        """Keep pytest's configuration, in which the courses of the run are stored."""
        self.config = config

    def _count_as_failure(self) -> None:
        """Count an answer that is not begun as a failed test, for the exit code, `-x` and `--maxfail`."""
        session: Any = self.config.pluginmanager.get_plugin("session")
        session.testsfailed += 1
        if 0 < (self.config.option.maxfail or 0) <= session.testsfailed:
            session.shouldfail = f"stopping at answer {session.testsfailed} that is not right yet"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Store the result that a report carries in the state of its course."""
        outcome: AnswerOutcome | None = getattr(report, "handgrad", None)
        if outcome is None:
            return
        course_run = _course_run(self.config, outcome.root)
        course_run.results[outcome.result.id] = outcome.result
        if outcome.status == "todo":
            self._count_as_failure()
        if isinstance(report.longrepr, str):  # from an xdist worker
            report.longrepr = Report(course_run, course_run.course.find(outcome.result.id), outcome.answer)


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder of results in the process that reports; pytest calls this when it registers the plugin."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config), "handgrad-recorder")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Set the exit code to 3 if the grader itself failed; complete the JUnit XML report, which is written by now."""
    results = [result for course_run in _course_runs(session.config) for result in course_run.results.values()]
    if any(result.status == "error" for result in results):
        session.exitstatus = 3
    if getattr(session.config.option, "xmlpath", None) and not hasattr(session.config, "workerinput"):
        _name_junit_cases(Path(os.path.expanduser(os.path.expandvars(session.config.option.xmlpath))).absolute())


def _name_junit_cases(path: Path) -> None:
    """Put the exercise's id before the name of each answer in pytest's JUnit XML report, if there is such a file.

    Args:
        path: the file of the report.
    """
    import xml.etree.ElementTree as ET

    if not path.is_file():
        return
    tree = ET.parse(path)
    for case in tree.iter("testcase"):
        properties = {element.get("name"): element.get("value") for element in case.iter("property")}
        if "exercise" in properties:
            case.set("name", f"{properties['exercise']}::{case.get('name')}")
    tree.write(path, encoding="utf-8", xml_declaration=True)


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    """Print a progress bar for each unit of the run, and what to do next."""
    for course_run in _course_runs(config):
        if course_run.results or course_run.strays:
            summarise(terminalreporter, exitstatus, course_run)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close each course that the run has opened, and end its worker."""
    for course_run in _course_runs(config):
        course_run.close()

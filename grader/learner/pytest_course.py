"""`pytest exercises/`: every answer of every exercise file is a test item, in teaching order.

Collecting reads course.yaml and the specs, never torch; learner files are not imported here at all, they run in
a worker process that starts while pytest collects. The terminal shows one line for each untouched unit, progress bars,
and the next step. `pytest_plugin` registers this plugin where there is a course.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .pytest_folders import QUIZ, exercises_folder, holds_course, is_exercise_file, named_path
from .pytest_items import AnswerItem, AnswerOutcome, CourseRun, ExerciseFile, Report, write

if TYPE_CHECKING:
    from grader.course.course import Course, CourseExercise
    from grader.rendering.render_text import Line

COURSE_RUNS = pytest.StashKey[dict[Path, CourseRun]]()
UNIT_LINES = "handgrad-unit-lines"


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
    """Attach the outcome of an answer to pytest's report on its item, as `report.handgrad`; return the report.

    An answer that is not begun is reported as skipped.
    """
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
    """Return the status TODO, which is neither a pass nor a failure, for an answer that is not begun; else `None`.

    A folded answer has no letter: see `AnswerOutcome.is_folded`.
    """
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
    """Save the learner's progress, and print a progress bar for each unit of the run, and what to do next."""
    for course_run in _course_runs(config):
        if course_run.results or course_run.strays:
            summarise(terminalreporter, exitstatus, course_run)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close each course that the run has opened, and end its worker."""
    for course_run in _course_runs(config):
        course_run.close()


class UnitLines:
    """Write one line for all untouched files of a unit, in place of a line of `T` for each.

    Args:
        reporter: pytest's terminal reporter.
        items: the items of the run.
        apart: files that keep their own line, because they were named on the command line.
    """

    def __init__(self, reporter: Any, items: Sequence[pytest.Item], apart: set[Path]) -> None:
        """Find the units of the answers; files in `apart` keep lines of their own. No line is written yet."""
        self.reporter = reporter
        self.last = items[-1].nodeid
        answers = [item for item in items if isinstance(item, AnswerItem) and item.path not in apart]
        self.units = {_file(item.nodeid): item.parent.exercise.unit for item in answers}
        self.quizzes = {_file(item.nodeid) for item in answers if item.parent.exercise.is_quiz}
        self.longest = max(map(len, self.units.values()), default=0)
        self.shown_units: set[str] = set()
        self.folder = ""
        self.todo = {False: 0, True: 0}  # of exercises, and of quizzes

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Keep pytest from writing a file's path before it is known whether any answer in the file is attempted."""
        file = _file(nodeid)
        folder = file.rpartition("/")[0] if file in self.units else ""
        if folder != self.folder:
            self.write()
        self.folder = folder
        self.reporter.showfspath = not folder

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count the answers of an untouched file; write the path of a file in which something is attempted."""
        if _file(report.nodeid) not in self.units:
            return
        from .progress import is_attempted

        outcome: AnswerOutcome | None = getattr(report, "handgrad", None)
        if outcome is not None and not is_attempted(outcome.result):
            outcome.is_folded = True
            self.todo[_file(report.nodeid) in self.quizzes] += 1
        elif report.when == "call" or not report.passed:
            self.reporter.write_fspath_result(report.nodeid, "")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write the line of the last unit after its last answer, so that pytest's [100%] still ends that line."""
        if nodeid == self.last:
            self.write()

    def pytest_sessionfinish(self) -> None:
        """Write the line of the current unit if the run was stopped."""
        self.write()

    def write(self) -> None:
        """Write the line of the current unit, unless no untouched file was counted, and count from 0 again."""
        answers, questions = self.todo[False], self.todo[True]
        if answers or questions:
            unit = self.folder.rpartition("/")[2]
            counts = f"{answers:>3} to do" + (f"  quiz {questions}" if questions else "")
            self.reporter.write_fspath_result(self.folder, "")
            self.reporter.write(f"{'':{self.longest - len(unit)}} {counts}", yellow=True)
            self.reporter.currentfspath = None  # else pytest would end the line with how far the next unit is
            self.shown_units.add(unit)
            self.todo = {False: 0, True: 0}


def _file(nodeid: str) -> str:
    """Return the path of the file in a pytest node id, which is the part before the first `::`."""
    return nodeid.split("::")[0]


def fold_units(session: pytest.Session, named: set[Path]) -> None:
    """Register the plugin that writes one line for all untouched files of a unit, unless pytest's options rule it out.

    Args:
        session: pytest's session.
        named: the paths on the command line, whose files keep lines of their own.
    """
    config, items = session.config, session.items
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if not session.items or reporter is None or hasattr(config, "workerinput"):
        return
    if not reporter.showfspath or reporter.showlongtestinfo or config.option.capture == "no":
        return  # -q and xdist write no files, -v each answer; what a file prints with -s stands beside its name
    here = config.invocation_params.dir
    apart = {item.path for item in items if item.path in named or item.path.parent == here}
    config.pluginmanager.register(UnitLines(reporter, items, apart), UNIT_LINES)


def summarise(reporter: Any, exitstatus: int, course_run: CourseRun) -> None:
    """Record what was checked in this run, and write flags, progress bars, the next step and files out of place.

    Args:
        reporter: pytest's terminal reporter.
        exitstatus: the exit code of the run.
        course_run: the run, with its results.
    """
    course, progress = course_run.course, course_run.session.progress
    touched = [exercise for exercise in course.exercises if exercise.id in course_run.results]
    for exercise in touched:
        progress.record(exercise, course_run.results[exercise.id])
    if touched:
        progress.save()
    _write_flags(reporter, course_run, touched)
    reporter.section("progress", sep="-")
    only_todo = exitstatus == pytest.ExitCode.TESTS_FAILED and not {"failed", "error"} & set(reporter.stats)
    for line in _closing_lines(reporter, course_run, touched, only_todo):
        write(reporter._tw, line)
    lost = [exercise for exercise in touched if not exercise.path.exists()]
    for note in (*map(missing_stub, lost), *progress.notes, *map(stray_file, course_run.strays)):
        write(reporter._tw, ((note, "todo"),))


def _write_flags(reporter: Any, course_run: CourseRun, touched: list[CourseExercise]) -> None:
    """Write the flags of each checked file, such as "b.g was measured", under the heading "to look at".

    Args:
        reporter: pytest's terminal reporter.
        course_run: the run, with the results.
        touched: the exercises with tests in this run.
    """
    from grader.rendering.render_text import flag_lines

    flagged = [exercise for exercise in touched if course_run.results[exercise.id].flags]
    if flagged:
        reporter.section("to look at", sep="-")
    for exercise in flagged:
        write(reporter._tw, ((exercise.file, "bold"),))
        for line in flag_lines(course_run.results[exercise.id], reporter._tw.fullwidth):
            write(reporter._tw, line)


def _closing_lines(
    reporter: Any, course_run: CourseRun, touched: list[CourseExercise], only_todo: bool
) -> Iterator[Line]:
    """Yield the closing lines: progress bars, why pytest exits with 1 although nothing is wrong, and the next step.

    Before the learner's first attempt, the command to study with is named, too, and before the first one in the unit of
    the next exercise, its lesson. With `-q`, or if no exercise has tests in this run, there are only the bars and the
    next step.

    Args:
        reporter: pytest's terminal reporter.
        course_run: the run, with the learner's progress.
        touched: the exercises with tests in this run; a unit has a bar unless its exercises share one line.
        only_todo: whether nothing is wrong and pytest exits with 1 only because answers are not begun.
    """
    from grader.rendering.render_text import lesson_file, next_step

    from .check_terminal import progress_bars
    from .progress import by_unit, is_attempted, next_exercise

    course, progress, width = course_run.course, course_run.session.progress, reporter._tw.fullwidth
    begun = {e.unit for e in course.exercises if (result := progress.result(e)) and is_attempted(result)}
    with_bar = {exercise.unit for exercise in touched} - (_folded_units(reporter.config) - begun)
    yield from progress_bars(by_unit(course, progress, with_bar), width)
    following = next_exercise(progress, touched) or next_exercise(progress, course.exercises)
    if reporter.verbosity >= 0 and touched:
        if only_todo:
            yield from _exit_code_lines(not begun, width)
        if not begun:
            yield from where_to_study(course, reporter.startpath, width)
        if following and following.unit not in begun:
            yield (("lesson: ", ""), (lesson_file(following), "bold"))
    yield next_step(following)


def _exit_code_lines(is_new: bool, width: int) -> Iterator[Line]:
    """Yield the lines that explain why pytest exits with 1.

    Args:
        is_new: whether the learner has not attempted any answer, which the lines then mention.
        width: the most columns of a line.
    """
    says = "pytest exits with 1 until every answer passes."
    for line in textwrap.wrap(f"Nothing is attempted yet. {says}" if is_new else says, width):
        yield ((line, ""),)


def _folded_units(config: pytest.Config) -> set[str]:
    """Return the ids of the units whose untouched files have one line together, in place of one for each file."""
    lines = config.pluginmanager.get_plugin(UNIT_LINES)
    return set() if lines is None else lines.shown_units


def where_to_study(course: Course, here: Path, width: int) -> Iterator[Line]:
    """Yield the command to study with: `handgrad`, or `handgrad init` if the course's solutions are beside it.

    Where `handgrad` is not on the path, the command that activates the environment goes before it.

    Args:
        course: the course.
        here: the folder in which the command will be typed, which the activation's path is relative to.
        width: the greatest number of columns in a line; the command gets a line of its own if the advice and it have
            more, and is never broken.
    """
    if course.solutions.parent == course.root:
        advice, command = "Study in a folder of your own:", "handgrad init my-course"
    else:
        advice, command = "Have each file checked as you save it:", "handgrad"
    command = f"{_activation(here)}{command}"
    if len(f"{advice} {command}") <= width:
        yield ((f"{advice} ", ""), (command, "bold"))
    else:  # the command stays in one piece, to be copied
        yield ((advice, ""),)
        yield ((f"  {command}", "bold"),)


def _activation(here: Path) -> str:
    """Return the shell command that activates this environment; empty if `handgrad` is on the path already."""
    script = Path(sys.executable).with_name("activate")
    if shutil.which("handgrad") is not None or not script.is_file():
        return ""
    shown = os.path.relpath(script, here) if here in script.parents else str(script)
    return f"{shown} && " if os.name == "nt" else f". {shlex.quote(shown)} && "


def missing_stub(exercise: CourseExercise) -> str:
    """Return the message that an exercise's file is missing, and how to get its stub back."""
    return f"{exercise.file} is not there: get the stub back with: handgrad reset {exercise.id}"


def stray_file(path: Path) -> str:
    """Return the message that a file belongs to no exercise and was not checked."""
    return f"{path.name} in {path.parent.name} is no exercise of this course: it was left alone; move or rename it."

"""`pytest exercises/` as a learner types it, with every option a learner knows, and beside tests that are not ours."""

from __future__ import annotations

import builtins
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from golden import assert_golden
from helpers.measurements import SOURCES
from test_session import RIGHT, KeptWorker

from grader.course.course import Course, bundled_folder
from grader.judging.grading import Grader
from grader.learner.progress import Progress
from grader.rendering.render_text import as_text, flag_lines
from grader.sandbox.worker import Worker

pytest_plugins = ["pytester"]

LIN = "exercises/04_linear/lin_grad.py"
MEAN = """\
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g / len(inp)
    b.g = ...
"""
SHAPES = "def lin_grad(inp, out, w, b):\n    inp.g = out.g @ w\n    w.g = inp.t() @ out.g\n    b.g = out.g.sum(0)\n"
MEASURED = SOURCES["lin_grad", "only one of them"]
SLOPE = "def slope(f, x, h):\n    return (f(x + h) - f(x)) / h\n"
Run = Callable[..., pytest.RunResult]


@pytest.fixture
def kept(worker: Worker, grader: Grader, monkeypatch: pytest.MonkeyPatch) -> KeptWorker:
    """The session's warm worker in place of one for each run; it counts its starts and remembers its jobs."""
    kept = KeptWorker(worker)
    monkeypatch.setattr("grader.sandbox.worker.start_worker", kept.start)
    kept.serve(grader, monkeypatch)
    return kept


@pytest.fixture
def course(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, new_workspace: Callable[..., Course]) -> Course:
    """A learner's workspace of the first six units, and the folder we stand in."""
    course = new_workspace(pytester.path / "ws", before="07_network")
    monkeypatch.chdir(course.root)
    return course


@pytest.fixture
def run(pytester: pytest.Pytester, course: Course, kept: KeptWorker, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("exercises/", "-q")`: pytest within this process."""

    def run(*arguments: str, columns: int = 80) -> pytest.RunResult:
        monkeypatch.setenv("COLUMNS", str(columns))
        return pytester.runpytest_inprocess(*arguments)

    def refused(*arguments: str) -> pytest.RunResult:
        """The same in a process of its own: pytester cannot follow a run that never began."""
        return pytester.runpytest_subprocess(*arguments)

    run.refused = refused

    return run


def in_a_process(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """pytest in a process of its own."""
    base = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PY_COLORS"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=cwd, env={**base, "COLUMNS": "80", **environment}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def write(course: Course, exercise_id: str, text: str) -> None:
    course.find(exercise_id).path.write_text(text, encoding="utf-8")


def ids(course: Course) -> list[str]:
    """Every item in teaching order."""
    return [
        f"{exercise.file}::{answer.name}" for exercise in course.exercises for answer in exercise.declaration.answers
    ]


def losses_in(course: Course) -> int:
    """How many items unit 06 has."""
    return sum("06_losses" in item for item in ids(course))


def collected(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def body(result: pytest.RunResult) -> str:
    """What stands between the header and the end."""
    lines = result.outlines
    start = next(i for i, line in enumerate(lines) if line.startswith("collected"))
    return "\n".join(lines[start:])


def author(course: Course) -> Path:
    """Make the workspace an author's; the path of unit 04's spec."""
    shutil.copytree(
        bundled_folder() / "solutions", course.root / "solutions", ignore=shutil.ignore_patterns("__pycache__")
    )
    return course.root / "solutions/04_linear/spec.py"


def test_a_failing_w_g(run: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    result = run(LIN)
    assert result.ret == 1
    assert_golden("pytest_mean_for_sum", body(result))


def test_a_flag_of_a_right_answer_is_shown_as_check_shows_it(
    run: Run, course: Course, worker: Worker, grader: Grader
) -> None:
    write(course, "lin_grad", MEASURED)
    flags = as_text(flag_lines(grader.grade(course.find("lin_grad"), MEASURED.encode(), worker), 80))
    result = run(LIN, "-q")
    assert result.ret == 0
    assert "w.g: each entry of w" in flags
    assert f"to look at {'-' * 34}\n{LIN}\n{flags}\n---" in result.stdout.str()


def test_a_verdict_is_remembered_of_the_bytes_that_were_graded(
    run: Run, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_remembered_as_graded(run, course, monkeypatch)


def assert_remembered_as_graded(run: Run, course: Course, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    """A file that was saved again before its verdict is recorded has none."""
    write(course, "slope", SLOPE)
    exercise, record = course.find("slope"), Progress.record

    def recorded_late(self, exercise, result):
        write(course, exercise.id, "something else\n")
        record(self, exercise, result)

    monkeypatch.setattr(Progress, "record", recorded_late)
    run("exercises/01_slopes/slope.py", *options)
    assert Progress.load(course.root).result(exercise) is None
    write(course, "slope", SLOPE)
    known = Progress.load(course.root).result(exercise)
    assert known is not None
    assert known.status == "passed"


def test_a_shape_error_with_axis_names_told_once_for_three_answers(run: Run, course: Course) -> None:
    write(course, "lin_grad", SHAPES)
    result = run(LIN)
    assert result.ret == 1
    assert_golden("pytest_shape_error", body(result))


def unit_lines(lines: list[str]) -> dict[str, int]:
    """What the lines of whole units say is to do, in exercises and in the quiz."""
    found = (re.match(r"(?:\S*/)?(\d\d_\w+) +(\d+) to do(?:  quiz (\d+))?", line) for line in lines)
    return {match[1]: int(match[2]) + int(match[3] or 0) for match in found if match}


def counted(course: Course) -> dict[str, int]:
    """How many items each unit has."""
    return Counter(item.split("/")[1] for item in ids(course))


def test_the_first_screen_fits_a_small_terminal_and_ends_with_what_to_do(run: Run, course: Course) -> None:
    assert_first_screen(run, course, 80)


def assert_first_screen(run: Run, course: Course, columns: int) -> list[str]:
    """What a clone of the project shows whoever has attempted nothing: its lines."""
    author(course)
    result = run("exercises/", columns=columns)
    lines = body(result).splitlines()
    assert result.ret == 1
    assert unit_lines(lines) == counted(course), "each unit once, and nothing of it attempted"
    assert len(lines) <= len(course.config.units) + 10, "with pytest's header, the command and a prompt: 24"
    assert max(map(len, lines)) <= columns
    return lines


def test_a_syntax_error(run: Run, course: Course) -> None:
    write(course, "slope", "def slope(f, x, h:\n    return 1\n")
    assert_golden("pytest_syntax_error", body(run("exercises/01_slopes/slope.py")))


def test_prints_of_a_failing_answer_are_shown_and_cannot_command_the_terminal(run: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN.replace("inp.g", "print('look:\\x1b[2J', len(inp)); inp.g"))
    text = str(run(LIN).stdout)
    assert "look:" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("source", [SLOPE, SLOPE.replace("return", "return ... #")], ids=["passed", "todo"])
def test_prints_are_shown_with_dash_s_whatever_the_verdict(run: Run, course: Course, source: str) -> None:
    """Someone who looks at an argument before writing anything."""
    write(course, "slope", source.replace("return", "print('look:', h); return"))
    assert "look:" in str(run("exercises/01_slopes/slope.py", "-s").stdout)


def test_items_are_answers_in_teaching_order(run: Run, course: Course) -> None:
    assert collected(run("exercises/", "--collect-only", "-q")) == ids(course)


def test_verbose_shows_each_status_and_ids_that_can_be_pasted(run: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    lines = [line.split("[")[0].split() for line in run(LIN, "-v").outlines if "%]" in line]
    assert [line[1] for line in lines] == ["PASSED", "FAILED", "TODO"]
    assert [line[0] for line in lines] == [f"{LIN}::inp.g", f"{LIN}::w.g", f"{LIN}::b.g"]


def test_editors_find_each_answer_in_its_file(run: Run, course: Course, pytester: pytest.Pytester) -> None:
    """An editor's pane of tests has an arrow beside the line that an item names."""
    write(course, "lin_grad", MEAN)
    items, _ = pytester.inline_genitems(LIN, "exercises/01_slopes/slope.py", "exercises/01_slopes/quiz.yaml")
    lines = {item.name: item.path.read_text().splitlines()[item.location[1]] for item in items}
    assert lines["inp.g"].strip().startswith("inp.g =")
    assert lines["b.g"].strip().startswith("b.g =")
    assert lines["return"].startswith("def slope(")
    assert lines["falls_by_4"] == "falls_by_4: null"


def test_what_is_to_do_is_skipped_and_the_run_fails_all_the_same(
    run: Run, course: Course, pytester: pytest.Pytester
) -> None:
    write(course, "lin_grad", MEAN)
    found = pytester.inline_run(LIN)
    assert [len(reports) for reports in found.listoutcomes()] == [1, 1, 1]
    assert found.ret == 1


def test_what_is_asked_for_is_what_runs(run: Run, course: Course) -> None:
    for arguments, expected in (
        ([LIN], r"/lin_grad\.py"),
        (["exercises/06_losses"], "06_losses"),
        (["exercises/06_losses/"], "06_losses"),
        ([f"{LIN}::w.g"], r"/lin_grad\.py::w\.g"),
        ([f"{LIN}::w.g", "exercises/06_losses"], r"/lin_grad\.py::w\.g|06_losses"),
        (["exercises", "-k", "lin_grad_nd and b.g"], r"lin_grad_nd\.py::b\.g"),
        (["exercises", "-k", "05_activations or mse_grad"], "05_activations|mse_grad"),
        (["exercises", "--deselect", "exercises/04_linear", "-k", "04_linear or 06_losses"], "06_losses"),
        ([], ""),
    ):
        found = collected(run(*arguments, "--collect-only", "-q"))
        assert found == [item for item in ids(course) if re.search(expected, item)], arguments


def test_dash_x_stops_at_the_first_that_is_not_right(run: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    result = run("exercises/04_linear", "-x")
    assert result.ret == 1
    assert result.parseoutcomes() == {"failed": 1, "passed": 1}
    assert "next: exercises/04_linear/lin_grad.py" in result.outlines


def test_dash_x_with_nothing_attempted_says_what_to_do(run: Run) -> None:
    result = run("exercises/", "-x")
    assert (result.ret, result.parseoutcomes()) == (1, {"todo": 1})
    assert unit_lines(result.outlines) == {"01_slopes": 1}
    assert "lesson: exercises/01_slopes/README.md" in result.outlines


def test_quiet_is_short_and_still_ends_with_what_is_next(run: Run) -> None:
    lines = run("exercises/06_losses", "-q").outlines
    assert len(lines) < 8
    assert "next: exercises/06_losses/mse_grad.py" in lines


def test_in_junit_xml_a_todo_is_skipped_and_neither_a_pass_nor_a_failure(run: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    ran = run(LIN, "--junitxml=report.xml", "-q")
    assert ran.ret == 1
    suite = ElementTree.parse(course.root / "report.xml").getroot()[0]
    cases = {case.get("name"): [part for part in case if part.tag != "properties"] for case in suite}
    assert [len(cases[f"lin_grad::{name}"]) for name in ("inp.g", "w.g", "b.g")] == [0, 1, 1]
    (failure,), (skipped,) = cases["lin_grad::w.g"], cases["lin_grad::b.g"]
    assert failure.get("message", "").startswith("mean-for-sum: every entry is 1/")
    assert "hint 1/3" in (failure.text or "")
    assert (skipped.tag, skipped.get("message")) == ("skipped", "not attempted yet")
    assert [suite.get(kind) for kind in ("tests", "failures", "skipped", "errors")] == ["3", "1", "1", "0"]


def test_names_in_junit_xml_are_unique(run: Run, course: Course) -> None:
    assert_unique_in_junit_xml(run, course)


def assert_unique_in_junit_xml(run: Run, course: Course, *options: str) -> None:
    """Each answer and question has a name of its own in the report."""
    run("exercises/04_linear", "--junitxml=reports/report.xml", "-q", *options)
    (suite,) = ElementTree.parse(course.root / "reports" / "report.xml").getroot()
    names = [case.get("name") for case in suite]
    assert len(names) == len(set(names)) == int(suite.get("skipped", 0)) > 30
    assert {"lin_grad::w.g", "bmm_grad::a.g", "quiz_04_linear::why_sum_0"} <= set(names)


def test_junit_xml_survives_control_characters(run: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN.replace("inp.g", "print('\\x00\\x1b\\ud800'); inp.g"))
    run(LIN, "--junitxml=report.xml", "-o", "junit_logging=all", "-q")
    ElementTree.parse(course.root / "report.xml")


def closing(lines: list[str]) -> list[str]:
    """The lines from the bars on, without the last one."""
    return lines[next(i for i, line in enumerate(lines) if " progress " in line) : -1]


BROKEN = ["a: [\n", "\tunits:\n"]  # what is added to a course file
POISON = "raise SystemExit('torch was imported while collecting')\n"


def test_collecting_imports_neither_torch_nor_a_learners_file_nor_starts_a_process(
    course: Course, pytester: pytest.Pytester
) -> None:
    (pytester.path / "poison").mkdir()
    for module in ("torch", "numpy"):
        (pytester.path / f"poison/{module}.py").write_text(POISON)
    write(course, "slope", "import builtins; builtins.leaked = 1; 1 / 0\n")
    (course.root / "conftest.py").write_text(
        "import builtins, subprocess, sys\n"
        "def forbidden(*a, **k): raise SystemExit('a process was started')\n"
        "subprocess.Popen.__init__ = forbidden\n"
        "def pytest_unconfigure(): print('LEAKED', hasattr(builtins, 'leaked'), 'torch' in sys.modules)\n"
    )
    done = in_a_process(
        "exercises/", "--collect-only", "-q", "-p", "no:hypothesispytest",
        cwd=course.root, PYTHONPATH=os.pathsep.join([str(pytester.path / "poison"), os.environ.get("PYTHONPATH", "")]),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if "::" in line] == ids(course)
    assert "LEAKED False False" in done.stdout


def test_a_learners_file_is_never_imported_here_whatever_else_would_collect_it(run: Run, course: Course) -> None:
    write(course, "slope", "import builtins\nbuiltins.leaked = 1\n" + SLOPE + "\ndef test_mine(): pass\n")
    result = run("exercises/01_slopes/slope.py", "-o", "python_files=*.py", "--doctest-modules")
    assert result.parseoutcomes() == {"passed": 1}
    assert not hasattr(builtins, "leaked")


def test_ordinary_tests_start_no_worker_and_get_no_bars(run: Run, course: Course, kept: KeptWorker) -> None:
    (course.root / "tests").mkdir()
    (course.root / "tests/test_mine.py").write_text("def test_mine(): pass\n")
    result = run("tests/")
    result.assert_outcomes(passed=1)
    assert kept.starts == 0
    assert "progress" not in str(result.stdout)


def test_an_id_in_place_of_a_path_is_answered_with_the_path(run: Run) -> None:
    assert_answered_with_the_path(run, "mse_grad", "exercises/06_losses/mse_grad.py")


def assert_answered_with_the_path(run: Run, named: str, path: str) -> None:
    """What is named is an id of the course: one sentence has its path."""
    assert str(run.refused(named).stderr).strip() == f"handgrad: pytest takes a path: name {path}"


def test_a_missing_stub_is_to_do_and_says_how_to_get_it_back(run: Run, course: Course) -> None:
    course.find("mse_grad").path.unlink()
    result = run("exercises/06_losses")
    assert (result.ret, result.parseoutcomes()) == (1, {"todo": losses_in(course)})
    assert unit_lines(result.outlines) == {"06_losses": losses_in(course)}
    assert "handgrad reset mse_grad" in str(result.stdout)


def test_a_broken_course_file_is_one_sentence(course: Course) -> None:
    assert_one_sentence_on_the_course_file(course, BROKEN[1], "exercises/")


def assert_one_sentence_on_the_course_file(course: Course, change: str, *arguments: str) -> None:
    """A course file that is broken is told as such, and is wrong usage."""
    file = course.root / "course.yaml"
    file.write_text(file.read_text() + change)
    done = in_a_process(*arguments, cwd=course.root)
    assert done.returncode == 2
    text = done.stdout + done.stderr
    assert f"{file}, line " in text
    assert not re.search("Traceback|pytest_course|INTERNALERROR", text)


def test_a_learners_folder_without_its_course_file_is_told_so(run: Run, course: Course) -> None:
    """Progress is there, so that it has been a course; without that pytest is left as it is."""
    (course.root / "course.yaml").unlink()
    for is_known in (False, True):
        result = run("exercises/")
        assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
        assert any(line.startswith("handgrad: there is no course in") for line in result.outlines) == is_known
        (course.root / ".handgrad").mkdir(exist_ok=True)


def test_a_worker_that_cannot_be_started_is_exit_three_and_one_sentence(course: Course) -> None:
    done = in_a_process(LIN, cwd=course.root, HANDGRAD_WORKER="thread")
    assert done.returncode == 3
    assert "HANDGRAD_WORKER=spawn" in done.stdout + done.stderr
    assert not re.search("Traceback|INTERNALERROR|pytest_course", done.stdout + done.stderr)


def test_an_infrastructure_error_is_exit_three_and_no_pass(
    run: Run, course: Course, kept: KeptWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grader.errors import InfrastructureError

    def lost(*_: object) -> None:
        raise InfrastructureError("the warm process was lost: run the same command again.")

    monkeypatch.setattr(kept, "run", lost)
    write(course, "lin_grad", RIGHT)
    result = run(LIN)
    assert result.ret == 3
    assert "run the same command again" in re.sub(r"\s+", " ", str(result.stdout))
    assert result.parseoutcomes().get("passed", 0) == 0


def test_a_bug_of_the_grader_is_exit_three_and_no_traceback(
    run: Run, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("something the grader did not foresee")

    write(course, "lin_grad", RIGHT)
    monkeypatch.setattr("grader.judging.given_answer.is_right", broken)
    result = run(LIN)
    assert result.ret == 3
    text = str(result.stdout)
    assert "something the grader did not foresee" in text
    assert "_pytest/runner.py" not in text


def test_a_state_that_cannot_be_written_is_noted_and_costs_nothing(run: Run, course: Course) -> None:
    (course.root / ".handgrad").write_text("a file")
    write(course, "lin_grad", RIGHT)
    result = run(LIN)
    assert result.ret == 0
    assert "Progress is not remembered" in str(result.stdout)

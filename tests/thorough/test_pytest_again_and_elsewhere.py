"""`pytest exercises/` again and again: in several processes, from elsewhere, with more options."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter

import pytest
from test_pytest_plugin import (
    BROKEN,
    LIN,
    MEAN,
    SHAPES,
    SLOPE,
    Run,
    assert_answered_with_the_path,
    assert_one_sentence_on_the_course_file,
    assert_remembered_as_graded,
    assert_unique_in_junit_xml,
    author,
    closing,
    collected,
    counted,
    course,
    ids,
    in_a_process,
    kept,
    losses_in,
    run,
    unit_lines,
    write,
)
from test_session import RIGHT

from grader.authoring.build import worked_text
from grader.course.course import Course, load_course

pytest_plugins = ["pytester"]


def test_a_verdict_from_another_process_is_remembered_of_the_bytes_that_were_graded(
    run: Run, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_remembered_as_graded(run, course, monkeypatch, "-n1")


def test_the_id_of_a_unit_in_place_of_a_path_is_answered_with_the_path(run: Run) -> None:
    assert_answered_with_the_path(run, "06_losses", "exercises/06_losses")


HANGS = """\
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    while True:
        pass
"""
TANH = "def tanh_grad(inp, out):\n    inp.g = out.g * (1 - out**2)\n"


@pytest.mark.parametrize("method", ["signal", "thread"])
def test_pytest_timeout_stops_learner_code_alone(method: str, course: Course) -> None:
    """One sentence names both limits; every other answer is judged, however long torch takes to be imported."""
    write(course, "lin_grad", HANGS)
    write(course, "tanh_grad", TANH)
    limits = "--timeout=0.5", f"--timeout-method={method}"
    done = in_a_process(*limits, LIN, "exercises/05_activations/tanh_grad.py", cwd=course.root)
    assert done.returncode == 1
    told = " ".join(done.stdout.split())
    assert "was still running after 0.5 seconds" in told
    assert "pytest-timeout allows 0.5 seconds here, the course 10" in told
    assert "2 failed, 2 passed" in told
    assert len(done.stdout.splitlines()) < 40
    assert "Traceback" not in done.stdout + done.stderr


def test_where_handgrad_is_no_command_the_environment_is_to_be_activated_first(
    run: Run, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who typed `.venv/bin/pytest exercises/`; the two commands stay in one line, to be copied."""
    script = course.root / ".venv/bin/activate"
    script.parent.mkdir(parents=True)
    script.touch()
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(script.with_name("python")))
    assert "Have each file checked as you save it: . .venv/bin/activate && handgrad" in run("exercises/").outlines
    assert "  . .venv/bin/activate && handgrad" in run("exercises/", columns=60).outlines
    script.unlink()
    assert "Have each file checked as you save it: handgrad" in run("exercises/").outlines


def test_a_unit_that_is_solved_leads_to_the_lesson_of_the_next(run: Run, course: Course) -> None:
    for exercise in course.exercises:
        if exercise.unit == "01_slopes":
            exercise.path.write_text(worked_text(exercise), encoding="utf-8")
    solved = run("exercises/01_slopes")
    assert solved.ret == 0
    end = ["lesson: exercises/02_chain_rule/README.md", "next: exercises/02_chain_rule/dy_dx.py"]
    assert [line for line in closing(solved.outlines) if line][-2:] == end
    assert closing(run("exercises/").outlines)[-3:] == ["pytest exits with 1 until every answer passes.", *end]


@pytest.mark.parametrize("options", [("-n1",), ("--junitprefix=class", "-o", "junit_family=xunit1")])
def test_names_in_junit_xml_are_unique(run: Run, course: Course, options: tuple[str, ...]) -> None:
    assert_unique_in_junit_xml(run, course, *options)


@pytest.mark.parametrize("change", BROKEN)
@pytest.mark.parametrize("named", ["exercises/", "."])
def test_a_broken_course_file_is_one_sentence_with_xdist_too(course: Course, change: str, named: str) -> None:
    assert_one_sentence_on_the_course_file(course, change, named, "-n", "1")


def nothing_of(unit: str, course: Course) -> str:
    """The bar of a unit of which nothing is attempted."""
    items = [item for item in ids(course) if unit in item]
    questions = sum("quiz.yaml" in item for item in items)
    return f"{unit}  ..............  0 of {len(items) - questions}  quiz 0 of {questions}"


def test_it_works_from_inside_a_folder_and_from_far_away(
    run: Run, course: Course, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(course.find("mse_grad").path.parent)
    losses = losses_in(course)
    for arguments, count in (((), losses), (("mse_grad.py",), 1)):
        result = run(*arguments)
        result.assert_outcomes()
        assert result.parseoutcomes() == {"todo": count}
        assert nothing_of("06_losses", course) in result.outlines
    monkeypatch.chdir(pytester.path)
    assert run("ws/exercises/06_losses").parseoutcomes() == {"todo": losses}
    assert run(str(course.find("mse_grad").path)).parseoutcomes() == {"todo": 1}


def test_xdist_gives_the_same_results_report_and_closing_lines(run: Run, course: Course) -> None:
    write(course, "lin_grad", SHAPES)
    write(course, "slope", SLOPE)
    targets = ("exercises/01_slopes", LIN)
    alone = run(*targets, columns=60)
    shared = in_a_process(*targets, "-n", "2", cwd=course.root, COLUMNS="60")
    assert shared.returncode == alone.ret == 1
    lines = shared.stdout.splitlines()
    assert alone.parseoutcomes() == {"failed": 3, "passed": 1, "todo": 16}
    assert "3 failed, 1 passed, 16 todo" in lines[-1]
    assert [line for line in closing(lines) if "FAILED" not in line] == [
        line for line in closing(alone.outlines) if "FAILED" not in line
    ]
    assert sorted(closing(lines)) == sorted(closing(alone.outlines)), "the summary names the mistakes"
    letters = next(line.split(" ")[0] for line in lines if re.match(r"[.FT]+ +\[100%\]", line))
    assert Counter(letters) == {"F": 3, ".": 1, "T": 16}
    told = [line for line in lines if line.startswith(("asked", "found", "hint", " " * 10))]
    assert told
    assert max(map(len, told)) <= 60, "the report is as wide as the terminal"


def test_a_spec_that_cannot_be_read_fails_the_run_with_xdist_too(course: Course) -> None:
    spec = author(course)
    spec.write_text(spec.read_text() + "\nbroken(\n")
    done = in_a_process("exercises/04_linear", "-n", "1", cwd=course.root)
    assert done.returncode == 2
    assert "pytest_course.py" not in done.stdout


@pytest.mark.parametrize(
    "options",
    [["-rA"], ["--tb=no"], ["--junitxml=r.xml"], ["-k", "slope or pick_h"], ["-o", "console_output_style=classic"]],
)
def test_an_option_that_is_about_something_else_leaves_the_lines_as_they_are(
    run: Run, course: Course, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setenv("CI", "1")
    write(course, "slope", SLOPE)
    lines = run("exercises/01_slopes", *options).outlines
    assert any(line.startswith("exercises/01_slopes/slope.py .") for line in lines)
    assert unit_lines(lines) == {"01_slopes": counted(course)["01_slopes"] - 1}
    assert "pytest exits with 1 until every answer passes." in lines


@pytest.mark.parametrize("option", ["-q", "-v", "-s"])
def test_quiet_verbose_and_uncaptured_runs_show_each_answer(run: Run, course: Course, option: str) -> None:
    lines = run("exercises/01_slopes", option).outlines
    start = next(i for i, line in enumerate(lines) if " progress " in line)
    every = len([item for item in ids(course) if "01_slopes" in item])
    shown = [re.sub(r"\[.*|^exercises\S+", "", line).strip() for line in lines[:start]]
    assert sum(word.startswith("TODO") or len(word) * (set(word) == {"T"}) for word in shown) == every
    assert nothing_of("01_slopes", course) in lines


@pytest.mark.parametrize("style", ["short", "long", "native", "line", "no"])
def test_no_traceback_style_shows_the_grader(run: Run, course: Course, style: str) -> None:
    write(course, "lin_grad", MEAN)
    text = str(run(LIN, f"--tb={style}").stdout)
    assert "mean-for-sum: every entry" in text
    assert not re.search(r"namespace\(|pytest_course|NotYet|Traceback", text)


def test_last_failed_runs_what_is_wrong_and_not_what_is_to_do(run: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    run(LIN, "exercises/06_losses/mse_grad.py")
    assert run("--lf", "-q", "exercises").parseoutcomes() == {"failed": 1}
    write(course, "lin_grad", RIGHT)
    assert run("--lf", "-q", "exercises").parseoutcomes() == {"passed": 1}


def test_a_stray_file_that_is_asked_for_by_name_is_wrong_usage(run: Run, course: Course) -> None:
    (course.root / "exercises/06_losses/scratch.py").write_text("1 / 0\n")
    result = run.refused("exercises/06_losses/scratch.py")
    assert "scratch.py in 06_losses is no exercise of this course. See them: handgrad list" in str(result.stderr)


def test_a_link_to_nowhere_is_told_like_a_missing_stub(run: Run, course: Course) -> None:
    stub = course.find("mse_grad").path
    stub.unlink()
    stub.symlink_to("nowhere")
    result = run.refused("exercises/06_losses/mse_grad.py")
    assert "handgrad reset mse_grad" in str(result.stderr)


@pytest.mark.parametrize("arguments", [["exercises/"], [LIN], ["exercises/", "--collect-only", "-q"]])
def test_a_spec_that_cannot_be_read_is_one_sentence(run: Run, course: Course, arguments: list[str]) -> None:
    spec = author(course)
    spec.write_text(spec.read_text() + "\nbroken(\n")
    result = run.refused(*arguments)
    text = str(result.stdout) + str(result.stderr)
    assert result.ret == 2
    assert text.count(f"{spec}, line ") == 1
    assert "pytest_course.py" not in text


def test_ordinary_tests_beside_exercises_are_left_as_they_are(run: Run, course: Course) -> None:
    """Their order, their tracebacks and their outcomes are pytest's own."""
    (course.root / "tests").mkdir()
    (course.root / "tests/test_mine.py").write_text(
        "import pytest\ndef test_b(): assert 1 + 1 == 3\ndef test_a(): pass\n@pytest.mark.skip\ndef test_c(): pass\n"
    )
    write(course, "slope", SLOPE)
    result = run("tests", "exercises/01_slopes", "-v")
    assert result.parseoutcomes() == {"failed": 1, "passed": 2, "skipped": 1, "todo": 16}
    assert "assert (1 + 1) == 3" in str(result.stdout)
    order = [
        line.split(" ")[0].split("::")[-1] for line in result.outlines if "test_mine.py::" in line and "%]" in line
    ]
    assert order == ["test_b", "test_a", "test_c"]
    lines = [line.split(" [")[0].split() for line in run("tests", "exercises/01_slopes").outlines if "%]" in line]
    assert lines[:2] == [["tests/test_mine.py", "F.s"], ["exercises/01_slopes/slope.py", "."]]


@pytest.mark.parametrize("arguments", [["exercises/nowhere.py"], [f"{LIN}::x.g"]])
def test_what_does_not_exist_is_wrong_usage(run: Run, arguments: list[str]) -> None:
    assert run.refused(*arguments).ret == 2


def test_a_missing_stub_that_is_asked_for_by_name_says_how_to_get_it_back(run: Run, course: Course) -> None:
    course.find("mse_grad").path.unlink()
    result = run.refused("exercises/06_losses/mse_grad.py")
    assert "handgrad reset mse_grad" in str(result.stdout) + str(result.stderr)


def test_a_run_leaves_nothing_but_its_state_in_the_workspace(run: Run, course: Course) -> None:
    before = {path for path in course.root.rglob("*") if ".handgrad" not in path.parts}
    write(course, "lin_grad", RIGHT)
    run("exercises/04_linear", "-p", "no:cacheprovider")
    assert {path for path in course.root.rglob("*") if ".handgrad" not in path.parts} == before
    state = json.loads((course.root / ".handgrad/progress.json").read_text())
    assert set(state["exercises"]) == {e.id for e in load_course(course.root).exercises if e.unit == "04_linear"}


def test_what_fails_before_an_exercise_runs_stands_beside_its_file(run: Run, course: Course) -> None:
    (course.root / "conftest.py").write_text("def pytest_runtest_setup(item): 1 / int('dy_dx' not in item.nodeid)\n")
    result = run("exercises/02_chain_rule")
    assert any(re.match(r"exercises/02_chain_rule/dy_dx\.py E", line) for line in result.outlines)
    assert unit_lines(result.outlines) == {"02_chain_rule": counted(course)["02_chain_rule"] - 1}


def test_a_missing_stub_takes_its_place_in_teaching_order(run: Run, course: Course) -> None:
    course.find("dz_dy").path.unlink()
    assert collected(run("exercises", "--collect-only", "-q")) == ids(course)


def test_a_folder_in_place_of_a_file_does_not_vanish(run: Run, course: Course) -> None:
    course.find("mse_grad").path.unlink()
    course.find("mse_grad").path.mkdir()
    result = run("exercises/06_losses")
    assert result.ret == 3
    assert "cannot be read (Is a directory)" in re.sub(r"\s+", " ", str(result.stdout))

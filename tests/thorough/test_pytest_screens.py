"""More of what a run of pytest over exercises shows: the rest of `test_pytest_plugin.py`."""

from __future__ import annotations

import pytest
from golden import assert_golden
from test_pytest_plugin import (
    LIN,
    MEAN,
    SHAPES,
    SLOPE,
    Run,
    body,
    closing,
    counted,
    course,
    ids,
    kept,
    losses_in,
    run,
    unit_lines,
    write,
)
from test_session import RIGHT, KeptWorker

from grader.course.course import Course

pytest_plugins = ["pytester"]


def test_nothing_attempted_yet(run: Run) -> None:
    result = run("exercises/02_chain_rule", "exercises/03_one_example")
    assert result.ret == 1
    assert_golden("pytest_all_todo", body(result))


def test_what_is_attempted_has_lines_of_its_own_and_the_rest_of_its_unit_one(run: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    write(course, "slope", SLOPE)
    write(course, "numerical_grad", "def numerical_grad(f, x, h):\n    return x\n")
    result = run("exercises/")
    lines = body(result).split("FAILURES")[0].splitlines()
    todo = counted(course)
    todo["01_slopes"] -= 2
    todo["04_linear"] -= 3
    assert unit_lines(lines) == todo
    assert [line.split(" [")[0].split() for line in lines if ".py" in line] == [
        ["exercises/01_slopes/slope.py", "."],
        ["exercises/01_slopes/numerical_grad.py", "F"],
        ["exercises/04_linear/lin_grad.py", ".FT"],
    ]
    assert result.parseoutcomes() == {"failed": 2, "passed": 2, "todo": len(ids(course)) - 4}
    end = closing(result.outlines)
    assert [line.split()[0] for line in end if " of " in line] == ["01_slopes", "04_linear"], (
        "the others are told above"
    )
    assert not any("exits with 1" in line for line in end), "what is wrong is told already"


def test_files_asked_for_by_name_have_a_line_each(run: Run) -> None:
    lines = run("exercises/01_slopes/slope.py", "exercises/01_slopes/pick_h.py", "exercises/02_chain_rule").outlines
    assert [line.split()[:2] for line in lines if "01_slopes/" in line][:2] == [
        ["exercises/01_slopes/slope.py", "T"],
        ["exercises/01_slopes/pick_h.py", "T"],
    ]
    assert list(unit_lines(lines)) == ["02_chain_rule"]
    assert any(line.startswith("01_slopes  .......") for line in lines), "no line told how far it is"


@pytest.mark.parametrize("source", [MEAN, SHAPES], ids=["mean", "shapes"])
def test_sixty_columns_are_enough(run: Run, course: Course, source: str) -> None:
    write(course, "lin_grad", source)
    result = run(LIN, columns=60)
    start = next(i for i, line in enumerate(result.outlines) if "FAILURES" in line)
    assert max(map(len, result.outlines[start:])) <= 60


def test_only_the_files_asked_for_are_run(run: Run, course: Course, kept: KeptWorker) -> None:
    write(course, "lin_grad", RIGHT)
    run(LIN)
    assert (kept.asked, kept.starts) == (["lin_grad"], 1)
    write(course, "lin_grad", MEAN)
    run(f"{LIN}::w.g")
    assert kept.asked == ["lin_grad", "lin_grad"]
    run("exercises", "-k", "mse_grad.py")
    assert kept.asked == ["lin_grad", "lin_grad", "mse_grad"]


def test_a_stray_file_is_named_and_left_alone(run: Run, course: Course) -> None:
    (course.root / "exercises/06_losses/scratch.py").write_text("1 / 0\n")
    result = run("exercises/06_losses")
    assert result.parseoutcomes() == {"todo": losses_in(course)}
    assert any(line.startswith("scratch.py in 06_losses is no exercise") for line in result.outlines)

"""`pytest exercises/` with more selections, colours and mistakes in the course."""

from __future__ import annotations

import re

import pytest
from golden import masked
from test_pytest_plugin import (
    BROKEN,
    LIN,
    MEAN,
    SHAPES,
    Run,
    assert_one_sentence_on_the_course_file,
    author,
    body,
    collected,
    course,
    ids,
    kept,
    run,
    write,
)
from test_session import RIGHT

from grader.course.course import Course
from grader.judging.grading import Grader
from grader.learner.progress import Progress

pytest_plugins = ["pytester"]

__all__ = ["course", "kept", "run"]


def test_colour_is_only_decoration(run: Run, course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    write(course, "lin_grad", MEAN)
    plain, coloured = run(LIN), run(LIN, "--color=yes")
    assert "\x1b" not in str(plain.stdout)
    assert "\x1b[31m" in str(coloured.stdout)
    stripped = re.sub(r"\x1b\[[\d;]*m", "", body(coloured))
    summary = "--- short test summary"
    assert masked(stripped).split(summary)[0] == masked(body(plain)).split(summary)[0]
    monkeypatch.delenv("PY_COLORS", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in str(run(LIN).stdout)


def test_the_same_failure_is_told_in_full_where_it_is_shown_alone(run: Run, course: Course) -> None:
    """`the same as inp.g above` would point at nothing."""
    write(course, "lin_grad", SHAPES)
    for selection in ([f"{LIN}::w.g"], [LIN, "-k", "w.g or b.g"]):
        text = str(run(*selection).stdout)
        assert "RuntimeError: " in text
        assert "the same as inp.g above" not in text


def test_hints_seen_elsewhere_are_shown_again(run: Run, course: Course) -> None:
    write(course, "lin_grad", MEAN)
    run(LIN)
    progress, exercise = Progress.load(course.root), course.find("lin_grad")
    result = progress.result(exercise)
    assert result is not None
    progress.record_hints_seen(exercise, result.answers[1], 2)
    progress.save()
    text = str(run(LIN).stdout)
    assert "hint 2/3" in text
    assert "hint 3/3" not in text


def test_files_named_out_of_order_still_run_in_teaching_order(run: Run, course: Course) -> None:
    result = run("exercises/06_losses", LIN, "exercises/01_slopes/slope.py", "--collect-only", "-q")
    assert collected(result) == [i for i in ids(course) if re.search("06_losses|/lin_grad.py|slope.py", i)]


def test_what_was_reached_before_counts_in_the_bars(run: Run, course: Course) -> None:
    write(course, "lin_grad", RIGHT)
    run(LIN)
    assert "04_linear  ##............  3 of 20  quiz 0 of 19" in run("exercises/04_linear/linear_grad.py").outlines


def test_a_broken_course_file_is_one_sentence_where_the_course_was_not_named(course: Course) -> None:
    assert_one_sentence_on_the_course_file(course, BROKEN[0], ".")


def test_a_declaration_that_fails_when_run_names_its_spec(
    run: Run, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.learner.session.new_grader", Grader)
    spec = author(course)
    spec.write_text(spec.read_text().replace("inp @ w + b,", "inp @ w + nope,", 1))
    result = run(LIN)
    assert result.ret == 2
    assert f"{spec}: lin_grad: " in str(result.stdout) + str(result.stderr)


def test_an_answer_that_does_not_exist_is_told_which_there_are(run: Run) -> None:
    result = run.refused(f"{LIN}::x.g")
    assert "inp.g, w.g, b.g" in str(result.stdout) + str(result.stderr)

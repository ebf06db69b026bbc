"""What an instructor sees of a long run: how fast it goes, how long it will take, and that it was stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.classroom.class_grading import GradingProgress
from grader.classroom.grade_terminal import MOST_NAMES, pace, print_summary, showing_progress
from grader.classroom.grades_table import ClassSummary, Failure, NothingToGrade, UnitTotal
from grader.course.course import Course


@pytest.mark.parametrize(
    ("progress", "says"),
    [
        (GradingProgress(0, 2000), "starting"),
        (GradingProgress(1500, 2000), "starting"),
        (GradingProgress(2000, 2000), ""),
        (GradingProgress(10, 2000, 99.6), "100/s, 0:20 left"),
        (GradingProgress(1100, 2000, 9.99), "10.0/s, 1:31 left"),
        (GradingProgress(0, 2000, 0.25), "0.2/s, 2:13:20 left"),
        (GradingProgress(1999, 2000, 1000.0), "1000/s, 0:01 left"),
        (GradingProgress(2000, 2000, 50.0), "50/s, 0:00 left"),
    ],
)
def test_the_rate_and_the_time_left(progress: GradingProgress, says: str) -> None:
    """Of what is graded now: what an earlier run finished takes no time."""
    assert pace(progress) == says


def test_what_students_named_their_folders_and_files_controls_no_terminal(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "\x1b]0;owned\x07\x9b2J\nroot# "
    failure = Failure(f"s{hostile}", "lin_grad", f"it failed{hostile}")
    nothing = (NothingToGrade(f"t{hostile}", f"it holds{hostile}"),)
    noted = {f"u{hostile}": (f"it was ignored{hostile}",)}
    summary = ClassSummary(
        1, 1, 0, 0.0, 1.0, {}, (failure,), (), 1.0, nothing=nothing, noted=noted, absent=(hostile,), removed=(hostile,)
    )
    print_summary(course, summary, Path("results"))
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert (said.out + said.err).replace("\n", "").isprintable()


@pytest.mark.parametrize(("more", "says"), [(1, "1 more student has notes"), (2, "2 more students have notes")])
def test_how_many_more_students_have_notes_is_counted(course: Course, capsys, more: int, says: str) -> None:
    noted = {f"s{number}": ("it was late",) for number in range(MOST_NAMES + more)}
    summary = ClassSummary(9, 9, 0, 0.0, 1.0, {}, (), (), 1.0, noted=noted, with_notes=len(noted))
    print_summary(course, summary, Path("results"))
    assert f"{says}: see grades.csv.\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("handed_in", "says"),
    [(18, ("Mean score 5.00 of 10 (all 20 students).", "mean of these")), (20, ("Mean score 5.00 of 10.", "mean"))],
)
def test_each_mean_says_of_whom_it_is_where_they_do_not_add_up(
    course: Course, capsys: pytest.CaptureFixture[str], handed_in: int, says: tuple[str, str]
) -> None:
    units = {"04_linear": UnitTotal(handed_in, 2.0, 4.0), "05_activations": UnitTotal(20, 3.0, 6.0)}
    summary = ClassSummary(20, 20, 0, 5.0, 10.0, {}, (), (), 1.0, units=units, scored=20)
    print_summary(course, summary, Path("results"))
    _, mean, head, *_ = capsys.readouterr().out.splitlines()
    assert mean.startswith(says[0])
    assert head.rstrip().endswith(says[1])


def test_they_have_no_points_stands_below_the_students_it_is_about(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = ("n107",)
    nothing = (NothingToGrade("n107", "nothing was handed in"),)
    noted = {"b102": ("m was taken for b102, by a part of a name",)}
    summary = ClassSummary(2, 1, 0, 0.0, 1.0, {}, (), (), 1.0, nothing=nothing, noted=noted, absent=absent)
    print_summary(course, summary, Path("results"))
    assert capsys.readouterr().out.endswith(
        "On the roster, and handed in nothing: n107.\nThey have no points. To enter 0 for them: --yes\n"
    )


def test_an_absent_student_with_a_score_does_not_stand_among_those_without_points(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = (NothingToGrade("n107", "nothing was handed in"), NothingToGrade("b3", "it is empty"))
    summary = ClassSummary(3, 1, 0, 3.0, 9.0, {}, (), (), 1.0, nothing=nothing, absent=("ill", "n107"))
    print_summary(course, replace(summary, untouched=("u13",)), Path("results"))
    assert capsys.readouterr().out.endswith(
        "Handed in only stubs, blank answer sheets or files without the function, and graded with 0 points: u13.\n"
        "On the roster, with a score, and handed in nothing: ill.\n"
        "On the roster, and handed in nothing: n107.\n"
        "1 of 3 holds nothing that could be graded:\n  b3: it is empty\n"
        "They have no points. To enter 0 for them: --yes\n"
    )


def test_the_bar_is_gone_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is drawn by a thread of its own, over whatever stands there."""
    stopped: list[str] = []
    monkeypatch.setattr("grader.classroom.grade_terminal.Bar.start", lambda bar: None)
    monkeypatch.setattr("grader.classroom.grade_terminal.Bar.stop", lambda bar: stopped.append("stopped"))
    with showing_progress(on_terminal=True) as report:
        report(GradingProgress(1, 2))
        assert stopped == []
        report(GradingProgress(2, 2))
        assert stopped == ["stopped"]

"""Adjustments by people and late work: what they take off, what the record says, and mistakes in the files."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.classroom.class_file import ClassFile, ClassPlan, LatePolicy, nearest
from grader.classroom.class_folder import ClassFolder
from grader.classroom.platform_names import Submission, read_time
from grader.classroom.score_changes import (
    NO_CHANGES,
    AdjustmentRow,
    ScoreChanges,
    lateness,
    read_adjustments,
    score_changes,
)
from grader.classroom.student_results import read_record
from grader.errors import UsageError
from grader.results.records import AnswerResult, ExerciseResult, Lateness, StudentResults, dumps

DUE = datetime(2026, 11, 30, 12, tzinfo=UTC)
POLICY = LatePolicy(grace="1h", per_day=0.1, at_most=0.35, free_days=1)


def results(score: float = 3.0, status: str = "passed") -> StudentResults:
    exercises = (
        ExerciseResult("a_grad", "01_slopes", (AnswerResult("return", status, score, 4.0),)),  # type: ignore[arg-type]
        ExerciseResult("b_grad", "01_slopes", (AnswerResult("return", "todo", 0.0, 2.0),)),
    )
    return StudentResults("course", "ada", exercises, seed=1)


@pytest.mark.parametrize(
    ("late_by", "days", "points"),
    [
        (timedelta(hours=-1), None, 0),
        (timedelta(hours=1), None, 0),
        (timedelta(hours=1, microseconds=1), 1, 0),
        (timedelta(days=1, hours=1), 1, 0),
        (timedelta(days=1, hours=1, seconds=1), 2, -1),
        (timedelta(days=2, hours=2), 3, -2),
        (timedelta(days=4), 4, -3),
        (timedelta(days=90), 90, -3.5),
    ],
)
def test_each_day_begun_after_the_grace_costs_a_share(late_by: timedelta, days: int | None, points: float) -> None:
    late = lateness(POLICY, DUE, DUE + late_by, 10.0)
    assert (late.days if late else None) == days
    assert (late.points if late else 0) == points


def test_the_record_says_how_late_it_was_and_why_it_costs_that() -> None:
    late = lateness(POLICY, DUE, DUE + timedelta(days=2, hours=2), 10.0)
    assert late is not None
    assert late.reason == "3 days late, 1 of them free: 10 % a day, 35 % at most"
    assert (late.due, late.handed_in) == ("2026-11-30T12:00:00+00:00", "2026-12-02T14:00:00+00:00")


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this machine be in a zone whose clocks went back on 25 October 2026, and forward on 28 March 2027."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("due", "grace", "handed_in", "days"),
    [
        ("2026-10-24T18:00", "0 h", "2026-10-24T18:00", None),
        ("2026-10-24T18:00", "0 h", "2026-10-25T17:30", 1),
        ("2026-10-24T18:00", "0 h", "2026-10-25T18:00", 1),
        ("2026-10-24T18:00", "0 h", "2026-10-25T18:01", 2),
        ("2026-10-24T18:00", "1 d", "2026-10-25T18:00", None),
        ("2026-10-24T18:00", "1 d", "2026-10-26T18:00", 1),
        ("2026-10-24T18:00", "25 h", "2026-10-25T19:00", None),
        ("2026-10-25", "0 h", "2026-10-26T23:59", 1),
        ("2026-10-25T02:30+02:00", "0 h", "2026-10-25T02:20+01:00", 1),  # 50 minutes later, by the clock earlier
        ("2027-03-27T18:00", "0 h", "2027-03-28T18:00", 1),
        ("2027-03-27T18:00", "0 h", "2027-03-28T18:30", 2),
        ("2027-03-28T02:30", "0 h", "2027-03-28T01:45", None),  # there is no 02:30 in that night
        ("2027-03-27T02:30", "1 d", "2027-03-28T01:45", None),
        ("2027-03-28T02:30", "0 h", "2027-03-28T04:00", 1),
    ],
)
def test_a_day_is_over_at_the_same_time_of_the_clock(due: str, grace: str, handed_in: str, days: int | None) -> None:
    content = {"submissions": "x", "due": due, "late": {"grace": grace, "per_day": 0.1}}
    assignment = ClassFile.model_validate({"assignments": {"w": content}}).assignments["w"]
    assert assignment.due is not None
    late = lateness(assignment.late, assignment.due, read_time(handed_in).astimezone(UTC), 10.0)
    assert (late.days if late else None) == days


def test_a_time_long_before_the_due_date_is_told(tmp_path: Path) -> None:
    content = ClassFile.model_validate({"assignments": {"w": {"submissions": "x", "due": DUE}}})
    plan = ClassPlan(tmp_path / "class.yaml", "", content)
    times = {"ada": datetime(26, 11, 30, tzinfo=UTC), "ben": DUE - timedelta(days=90), "cy": DUE - timedelta(days=365)}
    people = ClassFolder(tuple(Submission(key, (), handed_in=time) for key, time in times.items()), "")
    assert score_changes(plan, "w", people, {"a_grad": 3.0}).remarks == (
        "Handed in more than half a year before it was due: ada, cy: correct the time if that is a mistake.",
    )


def test_a_time_in_another_zone_is_the_same_time() -> None:
    assert lateness(POLICY, DUE, datetime.fromisoformat("2026-11-30T15:00+02:00"), 10.0) is None


def test_points_of_an_exercise_are_replaced_and_points_without_one_added() -> None:
    rows = [AdjustmentRow(2, "w", "ada", "b_grad", 1.5, "oral"), AdjustmentRow(3, "w", "ada", "", -0.25, "style")]
    changed = ScoreChanges(adjustments={"ada": rows}).apply("ada", results())
    assert [(row.exercise, row.points) for row in changed.adjustments] == [("b_grad", 1.5), ("", -0.25)]
    assert changed.score == changed.raw_score == 4.25
    assert [unit["score"] for unit in changed.units] == [4.5]


def test_an_adjustment_gives_points_for_what_could_not_be_graded() -> None:
    ungraded = results(0.0, "error")
    rows = [AdjustmentRow(2, "w", "ada", "a_grad", 4.0, "read by hand")]
    assert ungraded.score is None
    assert ScoreChanges(adjustments={"ada": rows}).apply("ada", ungraded).score == 4


def test_a_unit_of_somebody_without_work_stays_blank_whatever_is_added_to_the_total() -> None:
    rows = [AdjustmentRow(2, "w", "ada", "", 1.0, "oral")]
    changed = ScoreChanges(adjustments={"ada": rows}).apply("ada", replace(results(0.0), reason="nothing handed in"))
    assert changed.score is not None
    assert changed.in_units(["01_slopes"]).score is None
    assert NO_CHANGES.apply("ada", changed).score is None, "the reason is there again without the adjustment"


@pytest.mark.parametrize(("taken", "raw_score", "score"), [(-2.0, 1.0, 0.9), (-3.0, 0.0, 0.0), (-30.0, 0.0, 0.0)])
def test_a_unit_of_late_work_loses_its_share_also_where_the_total_was_lowered(
    tmp_path: Path, taken: float, raw_score: float, score: float
) -> None:
    """Where nothing was left of the total, the unit lost nothing by lateness: who lost more had more there."""
    rows = [AdjustmentRow(2, "w", "ada", "", taken, "copied")]
    changes = ScoreChanges({"ada": rows}, {"ada": DUE}, {"ada": DUE + timedelta(days=2)}, POLICY)
    changed = changes.apply("ada", results())
    assert (changed.raw_score, changed.score) == (raw_score, score)
    (tmp_path / "ada.json").write_text(dumps(changed), encoding="utf-8")
    for each in (changed, read_record(tmp_path / "ada.json")):
        assert isinstance(each, StudentResults)
        part = each.in_units(["01_slopes"])
        assert (part.score, [change.signed for change in part.changes]) == (2.7, ["-0.3"])


def test_a_record_that_does_not_know_the_share_of_its_lateness_has_it_from_its_points() -> None:
    late = Lateness(DUE.isoformat(), DUE.isoformat(), 2, -0.3, "2 days late: 10 % a day")
    assert replace(results(), late=late).in_units(["01_slopes"]).score == 2.7


def test_the_name_that_is_proposed_is_the_one_with_other_capital_letters() -> None:
    """`dan` was proposed for `Ada`, and a next step that was followed gave dan the extension."""
    assert nearest("Ada", ["dan", "ben", "ada", "cyd"]) == "did you mean ada?"
    assert nearest("JOSE", ["joe", "josé"]) == "did you mean josé?"
    assert nearest("aDA", ["ada", "dan", "Ada"]) == "did you mean ada or Ada?"
    assert nearest("Ada", ["xy"]) == "known are xy."


def test_late_work_loses_of_the_adjusted_points() -> None:
    rows = [AdjustmentRow(2, "w", "ada", "a_grad", 4.0, "oral")]
    changes = ScoreChanges({"ada": rows}, {"ada": DUE}, {"ada": DUE + timedelta(hours=2)}, LatePolicy(per_day=0.5))
    changed = changes.apply("ada", results())
    assert (changed.raw_score, changed.score) == (4, 2)


@given(st.floats(0, 50), st.floats(-50, 50), st.floats(0, 1), st.integers(0, 9))
def test_changes_made_twice_are_made_once(points: float, added: float, per_day: float, days: int) -> None:
    rows = [AdjustmentRow(2, "w", "ada", "b_grad", points, "x"), AdjustmentRow(3, "w", "ada", "", added, "y")]
    handed_in = {"ada": DUE + timedelta(days=days, seconds=1)}
    changes = ScoreChanges({"ada": rows}, {"ada": DUE}, handed_in, LatePolicy(per_day=per_day))
    once = changes.apply("ada", results())
    assert changes.apply("ada", once) == once
    assert once.score is not None
    assert once.score >= 0
    assert ScoreChanges().apply("ada", once) == results()


@pytest.mark.parametrize("why", ["it is empty", "submission_4: the export holds no such folder, though x.yml names it"])
def test_an_empty_folder_is_not_late(why: str) -> None:
    """Points from a person lost a share of lateness, and did not where there was no folder."""
    rows = [AdjustmentRow(2, "w", "ada", "", 4.0, "oral")]
    changes = ScoreChanges({"ada": rows}, {"ada": DUE}, {"ada": DUE + timedelta(days=9)}, LatePolicy(per_day=0.1))
    empty = replace(results(0.0), seed=None, reason=why)
    for each in (empty, replace(empty, reason="", notes=(why, "a note"))):
        changed = changes.apply("ada", each)
        assert (changed.score, changed.late) == (4, None)
    assert changes.apply("ada", replace(empty, reason="x.rar: such archives are not read")).late is not None
    named_so = replace(results(), notes=(f"{why}.txt was ignored: it is no exercise that is graded here",))
    assert changes.apply("ada", named_so).late is not None


def test_who_gave_no_time_loses_nothing_and_is_listed() -> None:
    changes = ScoreChanges(due={"ada": DUE}, late=LatePolicy(per_day=1.0))
    assert changes.apply("ada", results()).late is None
    assert changes.undated == ("ada",)


HEAD = "assignment,student,exercise,points,reason\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEAD + "week-2,ada,,1,x\n", "line 2: there is no assignment 'week-2': did you mean week-1?"),
        (HEAD + "week-1,adda,,1,x\n", "line 2: nobody here is called 'adda': did you mean ada?"),
        (HEAD + "week-1,zoe,,1,x\n", "line 2: nobody here is called 'zoe': known are ada."),
        (HEAD + "week-1,ada,a_gard,1,x\n", "line 2: week-1 has no exercise 'a_gard': did you mean a_grad?"),
        (HEAD + "week-1,ada,,one,x\n", "line 2: 'one' is no number of points"),
        (HEAD + 'week-1,ada,,"0,5",x\n', "line 2: '0,5' is no number of points: write 0.5."),
        (HEAD + "week-1,Ada L,,1,x\n", "line 2: nobody here is called 'Ada L': write the name in the results, ada."),
        (HEAD + "week-1,ada,,1_0,x\n", "line 2: '1_0' is no number of points: correct it."),
        (HEAD + "week-1,ada,,\u0661,x\n", "line 2: '\u0661' is no number of points: correct it."),
        (
            HEAD + "week-1,ada,a_grad,-1,x\n",
            "line 2: a_grad cannot have -1 points: write 0 or more, or leave out the exercise to take points off the "
            "total.",
        ),
        (HEAD + "week-1,ada,a_grad,25,x\n", "line 2: a_grad has 3 points, and not 25: leave out the exercise to add"),
        (HEAD + "week-1,ada,,nan,x\n", "line 2: 'nan' is no number of points"),
        (HEAD + "week-1,ada,,1,\n", "line 2: it gives no reason"),
        (HEAD + "week-1,ada,a_grad,1,x\nweek-1,ada,a_grad,2,y\n", "line 3: line 2 sets a_grad of ada too"),
        ("student,points\nada,1\n", "line 1: there is no column assignment"),
        (HEAD + "week-1,ada,a_grad,2,5,hours\n", "line 2: it has more cells than line 1 has columns: write a text"),
    ],
)
def test_a_mistake_in_adjustments_is_told_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "adjustments.csv").write_text(text)
    content = ClassFile.model_validate({"assignments": {"week-1": {"submissions": "x"}}})
    plan = ClassPlan(tmp_path / "class.yaml", "", content)
    people = ClassFolder((Submission("ada", (), frozenset({"Ada L"})),), "")
    with pytest.raises(UsageError) as raised:
        score_changes(plan, "week-1", people, {"a_grad": 3.0, "b_grad": 1.0})
    assert str(raised.value).startswith(f"adjustments.csv, {sentence}")


def test_a_spreadsheet_with_semicolons_and_a_mark_at_its_begin_is_read(tmp_path: Path) -> None:
    path = tmp_path / "adjustments.csv"
    path.write_text("Assignment;Student;Exercise;Points;Reason;by\nweek-1;ada;;1.5;a, b;me\n\n", encoding="utf-8-sig")
    assert read_adjustments(path, ["week-1"]) == ([AdjustmentRow(2, "week-1", "ada", "", 1.5, "a, b")], [])


def test_a_line_that_stands_there_twice_counts_twice_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "adjustments.csv").write_text(HEAD + "week-1,ada,,0.5,x\nweek-1,ada,,0.5,y\nweek-1,ada,,0.5,x\n")
    content = ClassFile.model_validate({"assignments": {"week-1": {"submissions": "x"}}})
    plan, people = ClassPlan(tmp_path / "class.yaml", "", content), ClassFolder((Submission("ada", ()),), "")
    changes = score_changes(plan, "week-1", people, {"a_grad": 3.0})
    assert [row.line for row in changes.adjustments["ada"]] == [2, 3, 4]
    assert changes.remarks == (
        "adjustments.csv, line 4: it says the same as line 2, and both count: remove one if one was meant.",
    )


def test_a_column_that_is_there_twice_is_told(tmp_path: Path) -> None:
    (tmp_path / "adjustments.csv").write_text("assignment,student,exercise,points,reason,Points\nw,ada,,-1,x,1\n")
    sentence = "adjustments.csv, line 1: columns 4 (points) and 6 (Points) mean the same: remove one, or rename it."
    with pytest.raises(UsageError) as raised:
        read_adjustments(tmp_path / "adjustments.csv", ["w"])
    assert str(raised.value) == sentence


def test_a_file_of_almost_that_name_is_told(tmp_path: Path) -> None:
    (tmp_path / "adjustment.csv").write_text(HEAD)
    with pytest.raises(UsageError, match=r"^adjustment\.csv is not read: rename it to adjustments\.csv\.$"):
        read_adjustments(tmp_path / "adjustments.csv", ["week-1"])


def test_midnight_ends_a_day_also_where_the_clocks_skip_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever handed in between 23:00 and midnight was one day late."""
    monkeypatch.setenv("TZ", "America/Santiago")
    time.tzset()
    try:
        content = {"submissions": "x", "due": "2026-09-05", "late": {"per_day": 0.1}}
        assignment = ClassFile.model_validate({"assignments": {"w": content}}).assignments["w"]
        assert assignment.due is not None
        moments = [read_time(text).astimezone(UTC) for text in ("2026-09-05T23:30", "2026-09-06T01:30")]
        late = [lateness(assignment.late, assignment.due, moment, 10.0) for moment in moments]
        assert [each and each.days for each in late] == [None, 1]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_an_extension_of_nobody_is_told(tmp_path: Path) -> None:
    text = "assignments:\n  w:\n    submissions: x\n    extensions:\n      eve: 2026-12-01\n"
    content = ClassFile.model_validate({"assignments": {"w": {"submissions": "x", "extensions": {"eve": DUE}}}})
    plan, people = ClassPlan(tmp_path / "class.yaml", text, content), ClassFolder((Submission("ada", ()),), "")
    with pytest.raises(UsageError, match=r"class\.yaml, line 5: nobody here is called 'eve'"):
        score_changes(plan, "w", people, {"a_grad": 3.0})


def test_an_extension_is_found_in_another_unicode_spelling(tmp_path: Path) -> None:
    key, spelling = (unicodedata.normalize(form, "bär") for form in ("NFC", "NFD"))
    content = ClassFile.model_validate({"assignments": {"w": {"submissions": "x", "extensions": {spelling: DUE}}}})
    plan, people = ClassPlan(tmp_path / "class.yaml", "", content), ClassFolder((Submission(key, ()),), "")
    changes = score_changes(plan, "w", people, {"a_grad": 3.0})
    assert changes.due == {key: DUE}


def test_an_extension_that_ends_before_the_due_date_is_told(tmp_path: Path) -> None:
    text = "assignments:\n  w:\n    submissions: x\n    due: 2026-12-01\n    extensions:\n      ada: 2026-11-01\n"
    dates = {"due": DUE, "extensions": {"ada": DUE - timedelta(days=30)}}
    content = ClassFile.model_validate({"assignments": {"w": {"submissions": "x", **dates}}})
    plan, people = ClassPlan(tmp_path / "class.yaml", text, content), ClassFolder((Submission("ada", ()),), "")
    with pytest.raises(UsageError, match=r"class\.yaml, line 6: the extension of ada ends before the due date"):
        score_changes(plan, "w", people, {"a_grad": 3.0})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_changes_are_read_in_every_encoding_that_a_spreadsheet_writes(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "adjustments.csv"
    path.write_bytes("assignment;student;exercise;points;reason\nweek-1;Núñez;;1;späte Abgabe\n".encode(encoding))
    rows, remarks = read_adjustments(path, ["week-1"])
    assert rows == [AdjustmentRow(2, "week-1", "Núñez", "", 1.0, "späte Abgabe")]
    assert [("Windows-1252" in remark) for remark in remarks] == [True] * (encoding == "cp1252")


def test_changes_that_are_no_text_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "adjustments.csv"
    path.write_bytes(b"assignment,student,exercise,points,reason\nweek-1,N\xfa\x81ez,,1,x\n")
    with pytest.raises(UsageError, match=r"cannot be read \(line 2 is not text\): save it as CSV in UTF-8"):
        read_adjustments(path, ["week-1"])


def test_a_name_in_another_unicode_spelling_is_that_student(tmp_path: Path) -> None:
    path, spelling = tmp_path / "adjustments.csv", unicodedata.normalize("NFD", "bär")
    path.write_text(f"assignment,student,exercise,points,reason\nhw1,{spelling},,1,late bus\n")
    (row,), _ = read_adjustments(path, ["hw1"])
    assert row.student == unicodedata.normalize("NFC", "bär")

"""Every output of one record agrees: its rows make its score, everything asked is in it, and no score is no zero."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from helpers.class_results import passed, result, todo, ungraded, wrong
from helpers.platform_formats import (
    CLASSROOM50,
    GRADESCOPE,
    PRAIRIELEARN,
    RUNNER,
    SUBMITTY,
    junit_tests,
    vpl_grade,
)
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from test_export_sheets import CANVAS, MOODLE
from test_feedback_page import read as feedback_page

from grader.classroom.class_report import Tally
from grader.classroom.report_files import answer_table
from grader.course.course import PACKAGE, Course, load_course
from grader.export.graded_work import NOT_GRADED, ExportOptions, changes, number, share
from grader.export.platforms import PLATFORMS
from grader.results.points import exact, total
from grader.results.records import Adjustment, AnswerResult, ExerciseResult, Lateness, StudentResults

EXERCISES = (
    ("01_slopes", "slope", ("return",)),
    ("04_linear", "lin_grad", ("inp.g", "w.g", "b.g")),
    ("04_linear", "quiz_04_linear", ("a", "b")),
    ("05_activations", "relu_grad", ("inp.g",)),
)
POINTS = st.sampled_from([0.25, 1 / 3, 0.5, 1.0, 2.0])
ANSWER = {"passed": passed, "failed": lambda n, p: wrong(n, "mean-for-sum", "1/7 of it", points=p), "todo": todo,
          "error": lambda n, p: ungraded(n, points=p)}  # fmt: skip


@st.composite
def records(draw: st.DrawFn) -> StudentResults:
    """Draw a record with every exercise that was asked, some adjustments, and perhaps lateness or no score."""
    statuses = st.sampled_from(["passed", "failed", "todo"] * 4 + ["error"])
    nothing = draw(st.integers(0, 5)) == 0
    exercises = []
    for unit, name, answers in EXERCISES:
        points = draw(POINTS)
        drawn = (ANSWER["todo" if nothing else draw(statuses)](answer, points) for answer in answers)
        exercises.append(ExerciseResult(name, unit, tuple(drawn)))
    places = st.sampled_from(["", *(name for _, name, _ in EXERCISES)])
    adjusted = st.builds(Adjustment, places, st.sampled_from([-9.0, -0.5, 0.25, 1.0]), st.just("a regrade request"))
    adjustments = () if nothing else tuple(draw(st.lists(adjusted, max_size=3)))
    reason = "nothing was handed in" if nothing and draw(st.booleans()) else ""
    record = StudentResults("handgrad", "Ada Lovelace", tuple(exercises), adjustments=adjustments, reason=reason)
    share_lost = draw(st.sampled_from([0, 0, Fraction(1, 10), Fraction(1)]))
    if not share_lost or not record.raw_score:
        return record
    lost = -float(exact(record.raw_score) * share_lost)
    return replace(record, late=Lateness("2026-01-01", "2026-01-03", 2, lost, "2 days late: 5 % a day"))


NO_WORK = replace(
    result("Ada Lovelace", todo("inp.g"), *map(todo, ("b.g", "inp.g", "w.g")), slope=todo()),
    reason="nothing was handed in",
)
COURSE = load_course(PACKAGE.parent)


def exported(platform: str, record: StudentResults, **options: Any) -> dict[str, bytes]:
    files = PLATFORMS[platform](COURSE, [record], ExportOptions(runner=RUNNER, is_single=True, **options)).files
    return dict(files)


def document(platform: str, record: StudentResults, schema: dict[str, Any]) -> dict[str, Any]:
    (content,) = exported(platform, record).values()
    found: dict[str, Any] = json.loads(content)
    Draft202012Validator(schema).validate(found)
    return found


def names(record: StudentResults) -> list[str]:
    """Return the names of all answers that were asked."""
    return [f"{exercise.id} {answer.name}" for exercise in record.exercises for answer in exercise.answers]


def change_names(record: StudentResults) -> list[str]:
    return [change.name for change in changes(record)]


def answers_of(record: StudentResults) -> list[AnswerResult]:
    return [answer for exercise in record.exercises for answer in exercise.answers]


every_record = given(records())


@every_record
def test_the_changes_and_the_answers_of_a_record_make_its_score(record: StudentResults) -> None:
    listed = [*(answer.score for answer in answers_of(record)), *(change.points for change in changes(record))]
    if record.score is not None:
        assert total(listed) == pytest.approx(record.score, abs=1e-12)
        assert record.score >= 0


@every_record
@example(NO_WORK)
def test_gradescope(record: StudentResults) -> None:
    found = document("gradescope", record, GRADESCOPE)
    tests = found["tests"]
    if record.score is None:
        assert "score" not in found
        assert not any("score" in test for test in tests)
        assert (NOT_GRADED if record.ungraded else record.reason) in found["output"]
        assert [test["name"] for test in tests] == names(record)
        return
    assert found["score"] == record.score
    assert found["extra_data"]["raw_score"] == record.raw_score
    assert [test["name"] for test in tests] == [*names(record), *change_names(record)]
    assert total(test.get("score", 0) for test in tests) == pytest.approx(record.score, abs=1e-12)
    assert {"score" in test for test, answer in zip(tests, answers_of(record), strict=False)
            if answer.status == "error"} <= {False}  # fmt: skip
    assert ("before" in found["output"]) == (record.score != record.raw_score)


@every_record
@example(NO_WORK)
def test_prairielearn(record: StudentResults) -> None:
    found = document("prairielearn", record, PRAIRIELEARN)
    if record.score is None:
        assert found["gradable"] is False
        assert NOT_GRADED in found["format_errors"] or record.reason in found["format_errors"][0]
        return
    assert [test["name"] for test in found["tests"]] == [*names(record), *change_names(record)]
    points = total(test["points"] for test in found["tests"])
    most = total(test["max_points"] for test in found["tests"])
    assert points == pytest.approx(record.score, abs=1e-12)
    assert most == pytest.approx(record.max_score, rel=1e-12)
    assert found["score"] == pytest.approx(min(points / most, 1), abs=1e-6)
    assert f"{number(record.score)} of {number(record.max_score)} points" in found["message"]
    assert ("before" in found["message"]) == (record.score != record.raw_score)


@every_record
@example(NO_WORK)
def test_classroom50(record: StudentResults) -> None:
    if record.score is None:
        assert exported("classroom50", record) == {}
        return
    found = document("classroom50", record, CLASSROOM50)
    assert [test["test-name"] for test in found["tests"]] == [*names(record), *change_names(record)]
    most, points = found["max-score"], sum(test["score"] + test.get("change", 0) for test in found["tests"])
    assert most == sum(test["max-score"] for test in found["tests"])
    assert points == pytest.approx(record.score * most / record.max_score, abs=1)
    assert found["score"] == min(points, most)


@every_record
@example(NO_WORK)
def test_submitty(record: StudentResults) -> None:
    found = document("submitty", record, SUBMITTY)
    if record.score is None:
        assert found["status"] == "failure"
        assert record.ungraded or record.reason in found["message"]
        return
    assert found["data"]["score"] == pytest.approx(share(record), abs=1e-6)
    lines = [line["message"] for line in found["data"]["message"]]
    assert all(any(line.startswith(f"{name} (") for line in lines) for name in [*names(record), *change_names(record)])


@every_record
@example(NO_WORK)
def test_vpl(record: StudentResults) -> None:
    output = exported("vpl", record)["vpl.txt"].decode()
    grades, titles = vpl_grade(output)
    assert grades == ([] if record.score is None else [number(min(record.score, record.max_score))])
    rows = [re.fullmatch(r"(.*) \((\S+)(?: of \S+)?\)", title) for title in titles]
    assert [row[1] for row in rows if row] == [*names(record), *change_names(record)]
    if record.score is None:
        assert (NOT_GRADED if record.ungraded else record.reason) in output
    else:
        points = sum(float(row[2]) for row in rows if row and row[2] != "?")
        assert points == pytest.approx(record.score, abs=0.01)


@every_record
@example(NO_WORK)
def test_github(record: StudentResults) -> None:
    summary = exported("github", record)["summary.md"].decode()
    items = [line for line in summary.splitlines() if line.startswith("- ")]
    assert len(items) == len(names(record)) + len(changes(record))
    assert all(f"- {name}: " in summary for name in names(record) if "_" not in name)
    head = summary.splitlines()[0]
    if record.score is None:
        assert not re.search(r"\d of \d", head)
        assert record.ungraded or record.reason in head
    else:
        assert head == f"## {number(record.score)} of {number(record.max_score)} points"


@every_record
@example(NO_WORK)
def test_junit(record: StudentResults) -> None:
    content = exported("junit", record)["junit.xml"]
    found = junit_tests(content)
    tags = {"passed": "passed", "failed": "failure", "todo": "skipped", "error": "error"}
    by_person = {exercise.id for exercise in record.exercises if exercise.status == "error"} & record.adjusted_ids
    assert {name: tag for name, (tag, _) in found.items()} == {
        name: "skipped" if answer.status == "error" and name.split()[0] in by_person else tags[answer.status]
        for name, answer in zip(names(record), answers_of(record), strict=True)
    }
    text = content.decode()
    assert all(change.reason in text for change in changes(record))
    if record.score is None:
        assert (NOT_GRADED if record.ungraded else record.reason) in text
    else:
        assert f"{number(record.score)} of {number(record.max_score)} points" in text


@every_record
@example(NO_WORK)
def test_feedback(record: StudentResults) -> None:
    page = feedback_page(COURSE, record).text
    assert all(exercise.id in page for exercise in record.exercises)
    assert all(change.sentence in page for change in changes(record))
    if record.score is None:
        assert (NOT_GRADED if record.ungraded else record.reason) in page
        assert not re.search(r"\d of \S+ points", page)
    else:
        assert f"{number(record.score)} of {number(record.max_score)} points" in page


@every_record
@example(NO_WORK)
def test_canvas_and_moodle(record: StudentResults) -> None:
    for platform, sheet, column in (("canvas", CANVAS, "Slopes"), ("moodle", MOODLE, "")):
        (content,) = exported(platform, record, sheet=sheet.encode(), column=column, out_of=record.max_score).values()
        if record.score is None:
            assert content.decode() == sheet
            continue
        rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
        row = next(row for row in rows if {"Lovelace, Ada", "Ada Lovelace"} & set(row))
        points = record.score if platform == "canvas" else min(record.score, record.max_score)
        assert row[5 if platform == "canvas" else 4] == number(points)
        if platform == "moodle":
            todo_names = [n for n, a in zip(names(record), answers_of(record), strict=True) if a.status == "todo"]
            assert all(name in row[9] for name in todo_names)
            assert all(change.reason in row[9] for change in changes(record))


@every_record
@example(NO_WORK)
def test_report(record: StudentResults) -> None:
    tally, file = Tally(), io.BytesIO()
    with answer_table(file) as add:
        line, exercises = tally.add(record)
        add(line, exercises)
    rows = list(csv.DictReader(io.StringIO(file.getvalue().decode("utf-8-sig"), newline="")))
    report = tally.report()
    assert report.max_score == pytest.approx(record.max_score, rel=1e-12)
    asked = {(row["exercise"], row["answer"]) for row in rows if row["answer"]}
    assert asked == {(exercise.id, answer.name) for exercise in record.exercises for answer in exercise.answers}
    if record.score is None:
        assert report.median is None
        assert report.scored == ()
    else:
        assert line.score == report.median
        assert line.score == pytest.approx(record.score, abs=1e-12)
        assert total(float(row["score"] or 0) for row in rows) == pytest.approx(record.score, abs=1e-12)


@every_record
def test_the_units_of_a_record_share_what_lateness_costs(record: StudentResults) -> None:
    """Exact where no adjustment is of the total, and no unit is below 0."""
    parts = [record.in_units([unit]) for unit in dict.fromkeys(exercise.unit for exercise in record.exercises)]
    is_split = not any(not change.exercise or change.points < 0 for change in record.adjustments)
    if record.score is not None and is_split:
        assert total(part.score or 0.0 for part in parts) == pytest.approx(record.score, abs=1e-9)
    assert [e for part in parts for e in part.exercises] == list(record.exercises)


def test_the_course_is_the_one_of_the_records() -> None:
    assert isinstance(COURSE, Course)
    assert {name for _, name, _ in EXERCISES} <= {exercise.id for exercise in COURSE.exercises}

"""Points add up exactly, whatever an exercise is worth and however many answers it has."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import pytest
from helpers.platform_formats import RUNNER, STUDENT_PLATFORMS, score_in
from hypothesis import example, given
from hypothesis import strategies as st

from grader.classroom.class_report import Tally
from grader.classroom.exercise_names import ExerciseNames
from grader.classroom.grades_table import GradesTable
from grader.classroom.report_files import answer_table
from grader.classroom.student_results import read_record
from grader.course.course import Course, load_course
from grader.export.grade_sheets import canvas
from grader.export.graded_work import ExportOptions, share
from grader.export.gradescope import results_json
from grader.export.platforms import PLATFORMS, whole_points
from grader.results.points import exact, part, shown, total
from grader.results.records import AnswerResult, ExerciseResult, StudentResults, dumps, exercise_from_json

TYPED = st.decimals("0.01", 1000, places=4).map(float)
ANY = st.one_of(TYPED, st.floats(1e-3, 1e4))
UNITS = ("01_slopes", "02_chain_rule", "04_linear")


def exercise(points: float, answers: int, right: int, name: str = "lin_grad", unit: str = UNITS[-1]) -> ExerciseResult:
    """Return the result of an exercise whose first answers are right."""
    worth = part(points, answers)
    passed = [AnswerResult(f"a{i}", "passed", worth, worth) for i in range(right)]
    failed = [AnswerResult(f"a{i}", "failed", 0.0, worth, "unknown") for i in range(right, answers)]
    return ExerciseResult(name, unit, (*passed, *failed), max_score=points)


def result(exercises: list[ExerciseResult]) -> StudentResults:
    return StudentResults("handgrad", "ada", tuple(exercises), 1, "none")


def read_again(record: StudentResults, folder: Path) -> StudentResults:
    """Return the record as the outputs of a class read it from its file."""
    path = folder / "ada.json"
    path.write_text(dumps(record))
    read = read_record(path)
    assert isinstance(read, StudentResults)
    return read


@given(ANY, st.integers(1, 200))
@example(1.0, 3)
@example(1.0, 49)
@example(0.1, 3)
@example(400.0, 7)
def test_right_answers_get_exactly_all_points(points: float, answers: int) -> None:
    found = exercise(points, answers, answers)
    assert (found.score, found.max_score) == (points, points)
    again = exercise_from_json(json.loads(found.line))
    assert (again, again.record) == (found, found.record)


@given(TYPED, st.integers(1, 40), st.data())
def test_a_part_is_added_exactly(points: float, answers: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, answers))
    found = exercise(points, answers, right)
    assert found.score == float(exact(points) * right / answers)
    other = exercise(points, answers, answers - right)
    assert result([found, other]).score == points
    assert total([found.score, other.score, points]) == 2 * points


def test_a_float_stands_for_the_number_that_it_was_rounded_from() -> None:
    assert exact(1 / 3) == Fraction(1, 3)
    assert exact(0.1) == Fraction(1, 10)
    assert exact(-2 / 7) == Fraction(-2, 7)
    assert [exact(0.0), exact(12.0), exact(0.333333)] == [0, 12, Fraction(333333, 10**6)]
    assert total([1e308, 1e308]) == float("inf")
    assert total([1.0, float("nan")]) != total([1.0, float("nan")])
    assert float(exact(1.7976931348623157e308)) == 1.7976931348623157e308


@given(st.floats(1e-300, 1e300))
def test_the_number_rounds_to_the_float(points: float) -> None:
    assert float(exact(points)) == points


@pytest.mark.parametrize(
    ("points", "told"),
    [(1 / 3, "0.333"), (2 / 3, "0.667"), (1.0, "1"), (2.5, "2.5"), (400.0, "400"), (0.0, "0"), (1 / 300, "0.00333"),
     (-1 / 3, "-0.333"), (12345.0, "12345")],
)  # fmt: skip
def test_points_are_rounded_where_they_are_shown(points: float, told: str) -> None:
    assert shown(points) == told


def test_records_written_earlier_are_read() -> None:
    """Their points have six decimals, and three thirds of a point are 0.999999."""
    answers = [{**answer, "score": 0.333333, "max_score": 0.333333} for answer in exercise(1.0, 3, 3).record["answers"]]
    found = exercise_from_json(
        {**exercise(1.0, 3, 3).record, "score": 0.999999, "max_score": 0.999999, "answers": answers}
    )
    assert (found.score, found.max_score) == (0.999999, 0.999999)


def test_the_points_of_a_record_are_those_of_its_answers() -> None:
    found = exercise_from_json({**exercise(1.0, 3, 3).record, "max_score": 5.0})
    assert (found.score, found.max_score) == (1.0, 1.0)


POINTS = st.lists(st.tuples(TYPED, st.integers(1, 19)), min_size=1, max_size=6)


def drawn_record(drawn: list[tuple[float, int]], share_right: int) -> StudentResults:
    """Return a record of some exercises in three units, with every n-th answer wrong; none for 0."""
    found = []
    for i, (points, answers) in enumerate(drawn):
        wrong = answers // share_right if share_right else 0
        found.append(exercise(points, answers, answers - wrong, f"exercise_{i}", UNITS[i % 3]))
    return result(found)


@given(POINTS, st.sampled_from([0, 2, 3]))
@example([(1.0, 3), (1.0, 3), (1.0, 7)], 0)
@example([(1.0, 3), (1.0, 3), (1.0, 3)], 2)
def test_the_units_add_up_to_the_total_in_every_output(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[float, int]], share_right: int
) -> None:
    record = drawn_record(drawn, share_right)
    units = record.record["units"]
    most = total(points for points, _ in drawn)
    assert record.max_score == total(unit["max_score"] for unit in units) == most
    assert record.score == pytest.approx(total(unit["score"] for unit in units), rel=1e-15)
    read = read_again(record, tmp_path_factory.getbasetemp())
    assert (read.score, read.max_score) == (record.score, most)
    tally = Tally()
    line, _ = tally.add(read)
    assert line.score == record.score
    assert tally.report().max_score == most
    gradescope = json.loads(results_json(None, read, ExportOptions())["results.json"])  # type: ignore[arg-type]
    assert gradescope["score"] == record.score
    assert total(test["max_score"] for test in gradescope["tests"]) == pytest.approx(most, rel=1e-12)
    if not share_right:
        assert record.score == most
        assert share(read) == 1
        assert all(unit["score"] == unit["max_score"] for unit in units)
        assert all(test["score"] == test["max_score"] for test in gradescope["tests"])


def thirds(tmp_path: Path, root: Path) -> Course:
    """Return the course with one point for an exercise of three answers, and prime numbers of points for others."""
    text = (root / "course.yaml").read_text()
    (tmp_path / "solutions").symlink_to(root / "solutions")
    (tmp_path / "course.yaml").write_text(
        text.replace("points: 3}", "points: 1}").replace("points: 3\n", "points: 1\n")
    )
    return load_course(tmp_path)


def all_right(course: Course) -> StudentResults:
    exercises = [
        exercise(each.points, len(each.answer_names), len(each.answer_names), each.id, each.unit)
        for each in course.exercises
    ]
    return result(exercises)


def test_all_points_are_all_points_in_every_file(tmp_path: Path) -> None:
    course = thirds(tmp_path, Path(__file__).resolve().parents[2])
    lin_grad = course.find("lin_grad")
    assert (lin_grad.points, len(lin_grad.answer_names)) == (1, 3)
    found = all_right(course)
    most = total(each.points for each in course.exercises)
    assert found.record["score"] == found.record["max_score"] == most
    table = GradesTable(ExerciseNames(course, course.exercises))
    table.count("ada", read_again(found, tmp_path))
    row = next(csv.DictReader(io.StringIO(table.text())))
    assert (row["score"], row["lin_grad"]) == (row["max_score"], "1")
    assert total(float(row[unit.id]) for unit in course.config.units) == float(row["score"]) == most
    record = read_again(found, tmp_path)
    assert share(record) == 1
    answers = io.BytesIO()
    with answer_table(answers) as add:
        add(*Tally(course.config).add(record))
    lines = list(csv.DictReader(io.StringIO(answers.getvalue().decode("utf-8-sig"))))
    assert total(float(row["score"]) for row in lines) == total(float(row["max_score"]) for row in lines) == most
    options = ExportOptions(runner=RUNNER, is_single=True)
    files = {name: PLATFORMS[name](course, [record], options).files for name in STUDENT_PLATFORMS}
    assert {name: score_in(name, files[name], most) for name in files} == dict.fromkeys(files, most)
    whole = json.loads(*files["classroom50"].values())
    assert whole["score"] == whole["max-score"] == sum(test["max-score"] for test in whole["tests"])
    sheet = b"Student,ID,SIS Login ID,Section,Work (7)\n    Points Possible,,,,10\nada,1,ada,a,\n"
    filled = canvas(course, [record], ExportOptions(sheet=sheet)).files["canvas.csv"]
    assert filled.decode().splitlines()[-1].endswith(",10")


def test_whole_numbers_that_are_too_coarse_still_add_up() -> None:
    """A platform of whole numbers, where 1000 parts of a point do not divide by the answers: all of them are all."""
    for answers in (3, 7, 11, 13, 49):
        worth = whole_points([part(1.0, answers)] * answers, 1000)
        assert sum(worth) == 1000
        assert max(worth) - min(worth) <= 1

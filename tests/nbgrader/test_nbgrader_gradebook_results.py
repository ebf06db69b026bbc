"""nbgrader's gradebook read back: the same class gives the same report, and nothing is written to it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from helpers.class_results import (
    CLASS,
    LIN,
    counted,
    from_source,
    opened,
    write_folder,
    write_gradebook,
)
from hypothesis import given
from hypothesis import strategies as st

from grader.classroom.class_report import Counts
from grader.classroom.student_results import read_folder
from grader.course.course import PACKAGE, load_course
from grader.export.grade_sheets import moodle
from grader.export.graded_work import ExportOptions
from grader.nbgrader.gradebook_results import AnswerComment, read_comment, read_gradebook
from grader.results.codes import UNNAMED
from grader.results.records import StudentResults


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The gradebook of the class, to be copied."""
    path = tmp_path_factory.mktemp("written") / "gradebook.db"
    write_gradebook(path, CLASS)
    return path


@pytest.fixture
def gradebook(written: Path, tmp_path: Path) -> str:
    """The address of a gradebook of the class, to change something in."""
    return f"sqlite:///{shutil.copyfile(written, tmp_path / 'gradebook.db')}"


def test_records_and_gradebook_give_the_same_results(gradebook: str, tmp_path: Path) -> None:
    of_folder = from_source(read_folder(write_folder(tmp_path / "grades", CLASS)))
    of_gradebook = from_source(read_gradebook(gradebook))
    assert of_gradebook == of_folder == counted(CLASS)


def test_scores_agree_with_those_that_nbgrader_exports(gradebook: str) -> None:
    with opened(gradebook) as book:
        grade = book.find_grade("lin_grad-b-g", "04_linear", "04_linear", "ben")
        grade.manual_score, grade.extra_credit = 0.5, 0.25
        book.find_submission_notebook("04_linear", "04_linear", "gil").late_submission_penalty = 0.5
        book.find_submission_notebook("05_activations", "05_activations", "ben").late_submission_penalty = 9.0
        book.db.flush()
        exported = {
            student.id: sum(max(0.0, found.score - found.late_submission_penalty) for found in student.submissions)
            for student in book.students
        }
    report = from_source(read_gradebook(gradebook))
    assert {line.name: line.score for line in report.students} == exported
    assert (exported["ben"], exported["gil"]) == (2.75, 3.5)


def test_a_row_of_moodle_is_found_by_the_names_in_the_gradebook(gradebook: str) -> None:
    """No row was found, and the advice was to grade with a roster."""
    sheet = (
        "Identifier,Full name,Email address,Grade,Maximum Grade\nParticipant 1,Ada Lee,ada@u.edu,,5\n"
        "Participant 2,Ben Oz,ben@u.edu,,5\n"
    )
    with opened(gradebook) as book:
        book.update_or_create_student("ada", first_name="Ada", last_name="Lee", email="ada@u.edu", lms_user_id="77")
        book.update_or_create_student("gil", last_name="Oz", first_name="Ben")
    records = [record for record in read_gradebook(gradebook) if isinstance(record, StudentResults)]
    names = {record.student: record.known_as for record in records}
    assert (names["ada"], names["gil"], names["ben"]) == (("Ada Lee", "ada@u.edu", "77"), ("Ben Oz",), ())
    made = moodle(load_course(PACKAGE.parent), records, ExportOptions(sheet=sheet.encode()))
    cells = [line.split(",")[3] for line in made.files["moodle.csv"].decode().splitlines()[1:]]
    assert cells[0] == "5"
    assert cells[1] != ""


def test_missing_untouched_and_ungraded_answers_differ(gradebook: str) -> None:
    with opened(gradebook) as book:
        book.add_assignment("09_later", course_id="course")
        book.add_notebook("09_later", "09_later")
        book.add_grade_cell("later-x-g", "09_later", "09_later", max_score=1, cell_type="code")
        book.add_grade_cell("essay", "01_slopes", "01_slopes", max_score=4, cell_type="markdown")
        book.add_student("late joiner")
        book.add_submission("01_slopes", "late joiner")
        book.add_student("untouched")
        book.add_submission("01_slopes", "untouched")
        book.find_grade("slope-return", "01_slopes", "01_slopes", "untouched").auto_score = 0.0
        book.find_comment("slope", "01_slopes", "01_slopes", "untouched").auto_comment = "No response."
    report = from_source(read_gradebook(gradebook))
    lines = {line.name: line for line in report.students}
    assert lines["late joiner"].exercises == Counts(untried=2, ungraded=1)
    assert lines["untouched"].not_begun
    assert report.ungraded[-1].why == "not graded yet"
    assert report.max_score == 5, "an essay that nobody is graded on yet does not count"
    assert [note.text for note in report.notes] == [
        "nobody has handed in 09_later: not counted", "nobody's 01_slopes essay is graded yet: not counted",
    ]  # fmt: skip


def test_who_handed_in_nothing_for_a_unit_has_no_score_in_it(gradebook: str) -> None:
    """It was 0 in an export or a report of that unit, silently, for whoever had handed in another unit."""
    with opened(gradebook) as book:
        book.add_student("joiner")
        book.add_submission("01_slopes", "joiner")
        book.find_grade("slope-return", "01_slopes", "01_slopes", "joiner").auto_score = 1.0
    records = [entry for entry in read_gradebook(gradebook) if isinstance(entry, StudentResults)]
    (joiner,) = (record for record in records if record.student == "joiner")
    assert joiner.score == 1
    scores = {
        units: joiner.in_units(units).score for units in (("01_slopes",), ("04_linear",), ("01_slopes", "04_linear"))
    }
    assert list(scores.values()) == [1, None, 1]
    assert joiner.in_units(["04_linear"]).why_no_score == "nothing was handed in"
    report = from_source(read_gradebook(gradebook), "04_linear")
    assert next(line for line in report.students if line.name == "joiner").why_no_score == "nothing was handed in"


def test_an_instructors_own_cells_and_notebooks_are_exercises_of_their_own(gradebook: str) -> None:
    with opened(gradebook) as book:
        book.add_assignment("week 9", course_id="course")
        for notebook in ("one", "two"):
            book.add_notebook(notebook, "week 9")
            book.add_solution_cell("part-1", notebook, "week 9")
            book.add_grade_cell("part-1-x-g", notebook, "week 9", max_score=1, cell_type="code")
            book.add_task_cell("essay", notebook, "week 9", max_score=2, cell_type="markdown")
        book.add_submission("week 9", "ada")
        for notebook in ("one", "two"):
            book.find_grade("part-1-x-g", notebook, "week 9", "ada").auto_score = 1.0
            book.find_grade("essay", notebook, "week 9", "ada").manual_score = 1.5
    unit = from_source(read_gradebook(gradebook)).units[-1]
    assert (unit.id, [exercise.id for exercise in unit.exercises]) == (
        "week 9", ["one/essay", "one/part-1", "two/essay", "two/part-1"],
    )  # fmt: skip
    assert [[answer.name for answer in exercise.answers] for exercise in unit.exercises][:2] == [["return"], ["x.g"]]
    assert unit.exercises[0].mistakes[0].code == UNNAMED


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        ("w.g: too small [mean-for-sum]", {"w.g": AnswerComment("too small", "mean-for-sum")}),
        ("w.g: too small [mean-for-sum]\nhint: see w[0]", {"w.g": AnswerComment("too small", "mean-for-sum")}),
        ("w.g: off at w[a] and [b]", {"w.g": AnswerComment("off at w[a] and [b]", None)}),
        ("- **w.g**: too\nsmall [mean-for-sum] hint", {"w.g": AnswerComment("too\nsmall", "mean-for-sum")}),
        (
            "`b.g, w.g`: not [y] [unknown]",
            {"w.g": AnswerComment("not [y]", "unknown"), "b.g": AnswerComment("not [y]", "unknown")},
        ),
        ("a [x]: no exit [crash]", {name: AnswerComment("a [x]: no exit", "crash") for name in LIN}),
        (
            "all: bad\nw.g: fine [todo]",
            {**dict.fromkeys(LIN, AnswerComment("all: bad")), "w.g": AnswerComment("fine", "todo")},
        ),
        ("No response.", dict.fromkeys(LIN, AnswerComment("No response.", "todo"))),
        ("- w.g: ``a `b` < c`` [error]\n  Hint: see [todo]", {"w.g": AnswerComment("a `b` < c", "error")}),
        (
            "- b.g, w.g: too small [mean-for-sum]\n- inp.g: not attempted yet [todo]",
            {
                "b.g": AnswerComment("too small", "mean-for-sum"),
                "w.g": AnswerComment("too small", "mean-for-sum"),
                "inp.g": AnswerComment("not attempted yet", "todo"),
            },
        ),
        ("", {}),
        ("[[[", dict.fromkeys(LIN, AnswerComment("[[["))),
    ],
)
def test_a_comment_is_split_into_message_and_code(comment: str, found: dict[str, AnswerComment]) -> None:
    assert read_comment(comment, LIN) == found


@given(st.text(alphabet="w.g:[]- \nab*`", max_size=60))
def test_any_comment_can_be_read(comment: str) -> None:
    assert set(read_comment(comment, LIN)) <= set(LIN)

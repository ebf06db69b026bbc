"""Errors in `course.yaml` are reported with their line, and unknown names with the most similar known ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.courses import ROOT

from grader.course.course import Course, bundled_folder, find_root, load_course, open_course
from grader.course.exercise import Exercise
from grader.errors import CourseError, SpecError, UsageError

GOOD = """\
course: tiny
title: A tiny course
policy:
  time_limit: 3
units:
  - id: 01_first
    title: The first unit
    exercises:
      - id: one
      - id: two
        points: 2
  - id: 02_second
    title: The second unit
    exercises:
      - id: three
        stretch: true
"""
SPEC = """\
from grader.course.exercise import Exercise, returned
from grader.course.sampling import normal
one = Exercise("One", lambda x: x * 2, {"x": normal("n")}, returned("x"))
two = Exercise("Two", lambda x: x * 3, {"x": normal("n")}, returned("x"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a tiny course folder, in which only the spec of the second unit is missing."""
    (tmp_path / "course.yaml").write_text(GOOD)
    (tmp_path / "solutions" / "01_first").mkdir(parents=True)
    (tmp_path / "solutions" / "01_first" / "spec.py").write_text(SPEC)
    return tmp_path


def refused(folder: Path, text: str) -> str:
    (folder / "course.yaml").write_text(text)
    with pytest.raises(CourseError) as caught:
        load_course(folder)
    return str(caught.value)


@pytest.mark.parametrize("name", ["2", "02", "02_second", "02_second/"])
def test_a_unit_is_named_by_its_id_or_its_number(folder: Path, name: str) -> None:
    course = load_course(folder)
    assert [exercise.id for exercise in course.select([name])] == ["three"]
    assert [exercise.id for exercise in course.select([name, "1"])] == ["one", "two", "three"]


@pytest.mark.parametrize("name", ["3", "0", "\N{SUPERSCRIPT TWO}", "-1", "second"])
def test_a_number_of_no_unit_names_nothing(folder: Path, name: str) -> None:
    course = load_course(folder)
    assert course.config.unit_id(name) == name
    with pytest.raises(UsageError, match="There is no exercise, unit or exercise file"):
        course.select([name])


def test_a_course_is_read_in_teaching_order(folder: Path) -> None:
    course = load_course(folder)
    assert [(e.id, e.unit, e.points, e.stretch) for e in course.exercises] == [
        ("one", "01_first", 1, False),
        ("two", "01_first", 2, False),
        ("three", "02_second", 1, True),
    ]
    assert (course.policy.time_limit, course.policy.show_expected) == (3, False)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("title: A tiny course", "title: [A tiny", 3, "not valid YAML"),
        ("  time_limit: 3", "\ttime_limit: 3", 4, "not valid YAML"),
        ("title: A tiny course", "titel: A tiny course", 2, "titel is not a known setting"),
        ("  time_limit: 3", "  timelimit: 3", 4, "policy.timelimit is not a known setting"),
        ("        points: 2", "        point: 2", 11, "units.0.exercises.1.point is not a known setting"),
        ("  time_limit: 3", "  time_limit: soon", 4, "policy.time_limit"),
        ("  time_limit: 3", "  time_limit: -1", 4, "policy.time_limit"),
        ("  time_limit: 3", "  time_limit: 0", 4, "policy.time_limit"),
        ("        points: 2", "        points: many", 11, "points"),
        ("        points: 2", "        points: yes", 11, "points: write a number"),
        ("        points: 2", "        points: 0", 11, "points"),
        ("        points: 2", "        points: .nan", 11, "points"),
        ("        points: 2", "        points: .inf", 11, "points"),
        ("        stretch: true", "        stretch: perhaps", 16, "stretch"),
        ("      - id: two", "      - id: Two Words", 10, "units.0.exercises.1.id"),
        ("  - id: 02_second", "  - id: second", 12, "units.1.id"),
        ("      - id: two", "      - id: one", 10, "one is listed twice"),
        ("      - id: three", "      - id: one", 15, "one is listed twice"),
        ("  - id: 02_second", "  - id: 01_first", 12, "01_first is listed twice"),
        ("course: tiny", "course: a tiny one", 1, "course"),
        ("course: tiny", "course: 5", 1, "course"),
        ("    title: The first unit\n", "", 6, "units.0.title is missing"),
        ("course: tiny\n", "", 1, "course is missing"),
    ],
)
def test_an_error_in_the_course_file_names_its_line(folder: Path, old: str, new: str, line: int, says: str) -> None:
    assert old in GOOD
    message = refused(folder, GOOD.replace(old, new, 1))
    assert says in message
    assert f"{folder / 'course.yaml'}, line {line}:" in message


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "- a list\n", "just words\n", "units: []\n", "? [a]\n: b\n", "&a [*a]\n", "1: 2\n"]
)
def test_a_file_that_is_no_course_is_refused_in_one_sentence(folder: Path, text: str) -> None:
    message = refused(folder, text)
    assert re.match(rf"{re.escape(str(folder))}/course.yaml, line \d+: ", message)
    assert "\n" not in message


def test_a_name_that_is_part_of_another_name_is_found_in_its_own_line(folder: Path) -> None:
    """The line of a duplicate is not that of a longer name that contains it."""
    text = GOOD.replace("      - id: two", "      - id: one").replace("      - id: three", "      - id: one_more")
    assert "line 10: one is listed twice" in refused(folder, text)


def test_a_missing_course_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"course\.yaml cannot be read.*handgrad init my-course"):
        load_course(tmp_path)
    with pytest.raises(CourseError, match=r"no course\.yaml in .* or above it.*handgrad init my-course"):
        open_course(tmp_path)


@pytest.mark.parametrize("content", [b"course: caf\xe9\n", b"\xff\xfe\x00c", b"course: a\x00b\n", b"course: \x07\n"])
def test_a_course_file_that_is_no_text_is_refused(folder: Path, content: bytes) -> None:
    (folder / "course.yaml").write_bytes(content)
    with pytest.raises(CourseError, match=r"course\.yaml"):
        load_course(folder)


def test_a_course_is_found_from_inside_it(folder: Path) -> None:
    inside = folder / "exercises" / "01_first"
    inside.mkdir(parents=True)
    assert find_root(inside) == folder.resolve()
    assert open_course(inside).root == folder.resolve()


def ids(course: Course, *targets: str) -> list[str]:
    return [exercise.id for exercise in course.select(targets)]


def test_exercises_are_selected_by_id_unit_or_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = load_course(folder)
    monkeypatch.chdir(folder)
    assert ids(course) == ["one", "two", "three"]
    assert ids(course, "two") == ["two"]
    assert ids(course, "01_first") == ["one", "two"]
    assert ids(course, "01_first/") == ["one", "two"]
    assert ids(course, "exercises/02_second/three.py") == ["three"]
    assert ids(course, "exercises/02_second") == ["three"]
    assert ids(course, "exercises") == ["one", "two", "three"]
    assert ids(course, ".") == ["one", "two", "three"]
    assert ids(course, str(folder / "exercises" / "01_first" / "one.py")) == ["one"]


def test_a_path_is_relative_to_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = load_course(folder)
    unit = folder / "exercises" / "01_first"
    unit.mkdir(parents=True)
    monkeypatch.chdir(unit)
    assert ids(course, "one.py") == ["one"]
    assert ids(course, "../02_second/three.py") == ["three"]
    assert ids(course, ".") == ["one", "two"]


def test_a_selection_keeps_teaching_order_and_repeats_nothing(folder: Path) -> None:
    assert ids(load_course(folder), "three", "two", "01_first") == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ("lin_grd", "lin_grad"),
        ("04_liner", "04_linear"),
        ("exercises/04_linear/lin_grade.py", "lin_grad"),
        ("relu-grad", "relu_grad"),
        ("lin", "lin_grad"),
        ("slopes", "01_slopes"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(course: Course, asked: str, nearest: str) -> None:
    with pytest.raises(UsageError, match=rf"{re.escape(asked)}.*Did you mean {nearest}\?"):
        course.select([asked])


def test_a_name_like_no_other_is_answered_with_the_list(course: Course) -> None:
    with pytest.raises(UsageError, match="handgrad list"):
        course.select(["exercises/04_linear/helper.py"])


def test_a_name_like_no_other_points_to_the_list(course: Course) -> None:
    with pytest.raises(UsageError, match="handgrad list"):
        course.select(["xyzzy"])
    with pytest.raises(UsageError, match="handgrad list"):
        course.find("xyzzy")


def test_an_exercise_is_found_by_its_file(folder: Path) -> None:
    course = load_course(folder)
    found = course.exercise_at(folder / "exercises" / "01_first" / ".." / "01_first" / "two.py")
    assert found is not None
    assert found.id == "two"
    assert course.exercise_at(folder / "course.yaml") is None


def test_a_declaration_is_read_from_the_units_spec(folder: Path) -> None:
    course = load_course(folder)
    assert isinstance(course.find("one").declaration, Exercise)
    assert list(course.declarations("01_first")) == ["one", "two"]


def test_a_missing_spec_is_named(folder: Path) -> None:
    with pytest.raises(SpecError, match=r"02_second.spec\.py is missing"):
        _ = load_course(folder).find("three").declaration


def test_an_exercise_that_its_spec_does_not_declare_is_named(folder: Path) -> None:
    (folder / "solutions" / "01_first" / "spec.py").write_text(SPEC.replace("two = ", "too = "))
    line = GOOD.splitlines().index("      - id: two") + 1
    with pytest.raises(SpecError, match=rf"course\.yaml, line {line}: .*declares no exercise 'two': declare it there"):
        _ = load_course(folder).find("two").declaration


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("x * 2", "x *", "line 3: SyntaxError"),
        ("returned\n", "retuned\n", "line 1: ImportError"),
        ('returned("x"))\ntwo', 'returned("y"))\ntwo', "line 3: the answer return differentiates"),
        ("import normal", "import normal\n1 / 0", "line 3: ZeroDivisionError"),
        ("import normal", "import normal\nraise SystemExit", "line 3: SystemExit"),
    ],
)
def test_a_spec_that_cannot_be_run_is_named_with_its_line(folder: Path, old: str, new: str, says: str) -> None:
    path = folder / "solutions" / "01_first" / "spec.py"
    assert old in SPEC
    path.write_text(SPEC.replace(old, new, 1))
    with pytest.raises(SpecError, match=re.escape(f"{path}, {says}")):
        _ = load_course(folder).find("one").declaration


def test_reading_a_spec_writes_no_files(folder: Path) -> None:
    _ = load_course(folder).find("one").declaration
    assert [path.name for path in (folder / "solutions" / "01_first").iterdir()] == ["spec.py"]


def test_a_workspace_without_solutions_uses_the_installed_ones(folder: Path) -> None:
    (folder / "solutions").rename(folder / "elsewhere")
    assert load_course(folder).solutions == bundled_folder() / "solutions"


def test_the_real_course_has_a_declaration_a_solution_and_a_lesson_for_everything() -> None:
    course = load_course(ROOT)
    for exercise in course.exercises:
        assert exercise.declaration.title
        assert exercise.solution.is_file()
        assert (ROOT / "exercises" / exercise.unit / "README.md").is_file()

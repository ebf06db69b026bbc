"""`class.yaml`: what it may hold, errors with a line, and options that contradict it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from grader.classroom.class_file import GradeOptions, grade_command, grade_options, read_class_file, results_path
from grader.classroom.score_changes import class_roster
from grader.classroom.student_results import read_folder
from grader.errors import UsageError

TEXT = """\
roster: people.csv
aliases:
  Ada L.: ada
assignments:
  week-1:
    units: [01_slopes]
    submissions: handed-in
    layout: sections
    due: 2026-11-30
    late: {grace: 15 min, per_day: 0.1, at_most: 0.5, free_days: 1}
    extensions: {ada: 2026-12-02T12:00+02:00}
"""


NO_DUE = "assignments:\n  week-1:\n    submissions: x\n    late: {per_day: 0.1}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "handed-in").mkdir()
    (tmp_path / "people.csv").touch()
    (tmp_path / "class.yaml").write_text(TEXT)
    return tmp_path


def test_a_class_file_is_read_with_its_times_and_shares(folder: Path) -> None:
    assignment = read_class_file(folder).content.assignments["week-1"]
    assert assignment.due is not None
    assert assignment.due.utcoffset() is not None
    assert assignment.due.replace(tzinfo=None) == datetime(2026, 12, 1), "a date alone means the end of its day"
    assert assignment.late.grace == timedelta(minutes=15)
    assert assignment.extensions["ada"] == datetime.fromisoformat("2026-12-02T12:00+02:00")


def test_a_number_with_zeros_before_it_is_read_as_it_is_written(folder: Path) -> None:
    """YAML reads 010 as 8, and unit 8 was graded; the student 0010 was refused as if a number had been meant."""
    written = (
        TEXT.replace("[01_slopes]", "[03, 010, 08, 7]").replace("Ada L.: ada", "Ada L.: 0010").replace("{ada:", "{007:")
    )
    (folder / "class.yaml").write_text(written)
    content = read_class_file(folder).content
    assert content.assignments["week-1"].units == ("03", "010", "08", "7")
    assert (content.aliases, [*content.assignments["week-1"].extensions]) == ({"Ada L.": "0010"}, ["007"])
    (folder / "class.yaml").write_text(TEXT.replace("free_days: 1", "free_days: 010").replace("0.1", "00.1"))
    late = read_class_file(folder).content.assignments["week-1"].late
    assert (late.free_days, late.per_day) == (10, 0.1)


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("units: [01_slopes]", "unit: [01_slopes]", 6, "is not a known setting"),
        ("per_day: 0.1", "per_day: 10", 10, "per_day: write a share of the score, from 0 to 1: 0.1 is ten percent; "),
        ("per_day: 0.1", "per_day: 10%", 10, "assignments.week-1.late.per_day: write 0.1 for 10%; correct it."),
        ("at_most: 0.5", "at_most: 12.5 %", 10, "write 0.125 for 12.5 %; correct it."),
        ("per_day: 0.1", "per_day: ten", 10, "per_day: write a share of the score, from 0 to 1: 0.1 is ten percent; "),
        ("free_days: 1", "free_days: two", 10, "free_days: write a whole number, such as 1."),
        ("submissions: handed-in", "submissions: 5", 7, "submissions: write the path of a file or a folder."),
        ("Ada L.: ada", "Ada L.:", 3, "aliases.Ada L. is empty: write a value, or remove the line."),
        (
            "{ada: 2026-12-02T12:00+02:00}",
            "\n      ben: 2026-12-02\n      0x106: 2026-12-02",
            13,
            'assignments.week-1.extensions.0x106: YAML reads it as a number, a date, or yes or no: write "0x106", in',
        ),
        ("week-1:", "2026-11-30:", 5, "assignments.2026-11-30: YAML reads it as a number, a date, or yes or no: write"),
        ("Ada L.:", "yes:", 3, 'aliases.yes: YAML reads it as a number, a date, or yes or no: write "yes", in quotes.'),
        ("grace: 15 min", "grace: 15", 10, "write a number and min, h or d, such as 2 h"),
        ("    submissions: handed-in\n", "", 5, "submissions is missing: add it"),
        ("layout: sections", "layout: rows", 8, "layout"),
        (
            "Ada L.: ada",
            "Ada L.: 1815",
            3,
            'aliases.Ada L.: YAML reads it as a number, a date, or yes or no: write "1815", in quotes.',
        ),
        ("units: [01_slopes]", "units: 01_slopes", 6, "units: write a list, as in [01_slopes]"),
        (
            "week-1:",
            "Übung-1:",
            5,
            "cannot be 'Übung-1': write letters from `a` to `z` or `A` to `Z`, digits, `.`, `_` and `-`, and none of "
            "these three first: it names a folder.",
        ),
        ("week-1:", "../x:", 5, "it names a folder"),
        ("due: 2026-11-30", "due: soon", 9, "write a date and a time, such as 2026-11-30T18:00"),
        ("due: 2026-11-30", "due: 20261130", 9, "write a date and a time, such as 2026-11-30T18:00"),
        ("due: 2026-11-30", "due: 30.11", 9, "write a date and a time, such as 2026-11-30T18:00"),
        (
            "due: 2026-11-30",
            "due: 2026-11-31",
            9,
            "2026-11-31 is no value of its kind (day is out of range for month): correct it",
        ),
        ("due: 2026-11-30", "due: 2026-11-30T25:00", 9, "write a date and a time, such as 2026-11-30T18:00"),
        ("due: 2026-11-30", "due: 2026-11-30 18.45", 9, "write a date and a time, such as 2026-11-30T18:00"),
        ("due: 2026-11-30", "due: 2026-11-30T18:45.5", 9, "write a date and a time, such as 2026-11-30T18:00"),
        ("due: 2026-11-30", "due: 9999-12-31", 9, "write a date and a time, such as 2026-11-30T18:00"),
        (TEXT, NO_DUE, 2, "late work is late after a due date: add a line with due"),
        ("per_day: 0.1", "per_day: yes", 10, "write a number"),
        ("free_days: 1", "free_days: true", 10, "write a number"),
        ("per_day: 0.1, ", "", 10, "late work loses nothing without per_day: add it, such as per_day: 0.1"),
        (
            "{grace: 15 min, per_day: 0.1, at_most: 0.5, free_days: 1}",
            "0.1",
            10,
            "late cannot be 0.1: write what belongs to it on the lines below it, indented further.",
        ),
        (
            TEXT,
            "assignments:\n  week-1:\n  units: [01_slopes]\n",
            2,
            "assignments.week-1 is empty: write what belongs to",
        ),
        ("roster: people.csv", "roster: [", 3, "not valid YAML"),
        (TEXT, "- a list", 1, "the file must map names"),
        ("    due:", "    units: []\n    due:", 9, "units is set twice: remove one"),
    ],
)
def test_a_mistake_is_told_with_its_line(folder: Path, old: str, new: str, line: int, sentence: str) -> None:
    assert old in TEXT
    (folder / "class.yaml").write_text(TEXT.replace(old, new))
    with pytest.raises(UsageError) as raised:
        read_class_file(folder)
    assert str(raised.value).startswith(f"class.yaml, line {line}: ")
    assert sentence in str(raised.value)


@pytest.mark.parametrize("name", ["class.yml", "Class.yaml"])
def test_a_class_file_of_almost_that_name_is_told(folder: Path, name: str) -> None:
    (folder / "class.yaml").rename(folder / name)
    with pytest.raises(UsageError, match=rf"^{name} is not read: rename it to class\.yaml\.$"):
        read_class_file(folder)


def test_results_of_an_unknown_assignment_are_offered_the_nearest(folder: Path) -> None:
    plan = read_class_file(folder)
    assert results_path(plan, "week-1") == results_path(plan, None) == results_path(plan, "grades/week-1")
    with pytest.raises(UsageError, match=r"There is no assignment or folder 'Week-1': did you mean week-1[?]"):
        results_path(plan, "Week-1")


def test_without_a_class_file_the_options_are_those_given(tmp_path: Path) -> None:
    given = GradeOptions(units=["01_slopes"], out=Path("x"))
    options = grade_options(read_class_file(tmp_path), "subs", given)
    assert (options.submissions, options.out, options.units) == (Path("subs"), Path("x"), ["01_slopes"])
    with pytest.raises(UsageError, match="Name what the class handed in"):
        grade_options(read_class_file(tmp_path), None, given)


@pytest.mark.parametrize("argument", [None, "week-1"])
def test_an_assignment_needs_nothing_but_its_name(folder: Path, argument: str | None) -> None:
    options = grade_options(read_class_file(folder), argument, GradeOptions())
    assert options.submissions == Path("handed-in")
    assert options.out == Path("grades/week-1")
    assert options.roster == Path("people.csv")
    assert (options.units, options.layout, options.assignment) == (("01_slopes",), "sections", "week-1")
    assert options.aliases == {"Ada L.": "ada"}


def test_several_assignments_must_be_named(folder: Path) -> None:
    (folder / "class.yaml").write_text(TEXT + "  week-2: {submissions: handed-in}\n")
    with pytest.raises(UsageError, match=r"handgrad grade week-1 \(or week-2\)"):
        grade_options(read_class_file(folder), None, GradeOptions())


def test_a_folder_with_the_name_of_an_assignment_is_written_as_a_path(folder: Path) -> None:
    (folder / "week-1").mkdir()
    options = grade_options(read_class_file(folder), "./week-1", GradeOptions(out=Path("x")))
    assert (options.submissions, options.assignment) == (Path("week-1"), "")
    assert options.roster == Path("people.csv"), "the roster is the class's, whatever is graded"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (GradeOptions(units=["02_chain_rule"]), 6),
        (GradeOptions(exercises=["square_grad"]), 6),
        (GradeOptions(roster=Path("other.csv")), 1),
        (GradeOptions(out=Path("elsewhere")), 5),
        (GradeOptions(layout="moodle"), 8),
    ],
)
def test_an_option_that_contradicts_the_file_is_told_with_the_line(
    folder: Path, given: GradeOptions, line: int
) -> None:
    with pytest.raises(UsageError, match=rf"^class\.yaml, line {line} says "):
        grade_options(read_class_file(folder), "week-1", given)


def test_options_that_agree_with_the_file_are_no_error(folder: Path) -> None:
    given = GradeOptions(units=["01_slopes"], roster=Path("./people.csv"), out=Path("grades/week-1"), layout="sections")
    assert grade_options(read_class_file(folder), "week-1", given).assignment == "week-1"


def test_the_folder_of_an_assignment_takes_nothing_else(folder: Path) -> None:
    (folder / "other").mkdir()
    with pytest.raises(UsageError, match=r"belongs to the assignment week-1 .*run handgrad grade week-1"):
        grade_options(read_class_file(folder), "other", GradeOptions(out=Path("grades/week-1")))


def test_the_command_that_grades_again_is_one_that_is_not_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    record = folder / "grades/week-1/ada.json"
    record.parent.mkdir(parents=True)
    record.touch()
    for results in (Path("grades/week-1"), record):
        assert grade_command(results) == "handgrad grade week-1"
    assert grade_command(Path("grades/other")) == "handgrad grade SUBMISSIONS --out grades/other"
    record.unlink()
    with pytest.raises(UsageError, match=r"make them with handgrad grade week-1$"):
        next(read_folder(record.parent))


def test_missing_submissions_are_told_with_the_line(folder: Path) -> None:
    (folder / "handed-in").rmdir()
    with pytest.raises(UsageError, match=r"class\.yaml, line 7: handed-in does not exist"):
        grade_options(read_class_file(folder), "week-1", GradeOptions())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "assignments:\n  a:  # first\n    submissions: x  # here\n\n  b:\n    submissions: y",
            "assignments:\n  a:  # first\n    submissions: x  # here\n    layout: moodle\n\n  b:\n    submissions: y",
        ),
        (
            "assignments:\n  a:\n   submissions: x\n   extensions:\n     ada: 2026-12-01\n",
            "assignments:\n  a:\n   submissions: x\n   extensions:\n     ada: 2026-12-01\n   layout: moodle\n",
        ),
        ("assignments:\n  a:\n    submissions: x", "assignments:\n  a:\n    submissions: x\n    layout: moodle\n"),
        ("assignments: {a: {submissions: x}}\n", None),
    ],
)
def test_a_layout_is_added_as_a_line_and_all_else_stays(tmp_path: Path, text: str, wanted: str | None) -> None:
    (tmp_path / "class.yaml").write_text(text)
    plan = read_class_file(tmp_path)
    assert plan.write_layout("a", "moodle") == (wanted is not None)
    assert (tmp_path / "class.yaml").read_text() == (wanted or text)
    if wanted:
        assert read_class_file(tmp_path).content.assignments["a"].layout == "moodle"


def test_an_unknown_assignment_and_a_missing_roster_are_told(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"no assignment or folder 'week-2': did you mean week-1"):
        grade_options(read_class_file(folder), "week-2", GradeOptions())
    (folder / "people.csv").unlink()
    with pytest.raises(UsageError, match=r"class\.yaml, line 1: there is no file people\.csv"):
        grade_options(read_class_file(folder), "week-1", GradeOptions())


@pytest.mark.parametrize("out", ["handed-in/ann/x", "handed-in/ann"])
def test_results_do_not_go_into_what_was_handed_in_to_another_assignment(folder: Path, out: str) -> None:
    (folder / "handed-in/ann").mkdir(parents=True)
    (folder / "elsewhere").mkdir()
    with pytest.raises(UsageError, match="the submissions in handed-in, and may be a student's: name another folder"):
        grade_options(read_class_file(folder), "./elsewhere", GradeOptions(out=Path(out)))
    assert grade_options(read_class_file(folder), "./elsewhere", GradeOptions(out=Path("handed-in/results")))


def test_an_alias_that_is_a_students_key_is_refused(folder: Path) -> None:
    (folder / "people.csv").write_text("login,name\nann,Ann\nk2,Kay\n")
    (folder / "class.yaml").write_text("roster: people.csv\naliases:\n  k2: k2\n  ann: k2\n")
    with pytest.raises(UsageError, match=r"class\.yaml, line 4: 'ann' is a student on the roster, whose key goes"):
        class_roster(read_class_file(folder), folder / "people.csv", "")


def test_aliases_need_a_roster(folder: Path) -> None:
    (folder / "class.yaml").write_text(TEXT.replace("roster: people.csv\n", ""))
    with pytest.raises(UsageError, match=r"class\.yaml, line 1: aliases are names on a roster"):
        grade_options(read_class_file(folder), "week-1", GradeOptions())

"""Points go into the instructor's own CSV file: into the right cells, and nothing else of it changes by a byte."""

from __future__ import annotations

import csv
import io
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from helpers.class_results import CLASS, handed, passed, result, wrong
from hypothesis import example, given
from hypothesis import strategies as st
from test_export import HOSTILE

from grader.course.course import PACKAGE, Course, load_course
from grader.errors import UsageError
from grader.export.grade_sheets import CellTable, canvas, moodle
from grader.export.graded_work import Exported, ExportOptions
from grader.results.records import Adjustment, StudentResults

# As Canvas exports it: a row that says what is posted by hand, one with the points, and columns that are worked out.
CANVAS = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Slopes (901),"
    '"Linear, by hand (902)",Current Score,Final Score\r\n'
    ",,,,,,Manual Posting,,\r\n"
    "    Points Possible,,,,,10.00,100.00,(read only),(read only)\r\n"
    '"Lovelace, Ada",11,S-1,ada@uni.edu,"Sect. ""A""",10.00,,100.00,90.00\r\n'
    '"Franklin, Ben",12,S-2,bfr,Section B,7.5,40.00,75.00,75.00\r\n'
    '"Student, Test",99,,abcdef,,,,,'
)
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\n"
    'Participant 411,Ada Lovelace,ada@uni.edu,Submitted for grading,,50.00,Yes,"Monday, 1 June 2026, 2:30 PM",-,\n'
    'Participant 412,Ben Franklin,ben@uni.edu,No submission,12.00,50.00,Yes,-,-,"<p>Well ""done""\nindeed</p>"\n'
)
ADA, BEN, EVE = (handed(next(each for each in CLASS if each.student == name)) for name in ("ada", "ben", "eve"))


@pytest.fixture(scope="module")
def course() -> Course:
    return load_course(PACKAGE.parent)


def rows(made: Exported) -> list[list[str]]:
    (content,) = made.files.values()
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def named(record: StudentResults, student: str) -> StudentResults:
    return replace(record, student=student)


def test_no_points_go_into_the_row_of_another_name_that_has_the_same_number(course: Course) -> None:
    """A student's number on the roster may be another one's in Canvas."""
    own = replace(named(ADA, "12"), known_as=("Eve Zola", "eve@uni.edu"))
    made = canvas(course, [own], ExportOptions(None, CANVAS.encode(), "Slopes"))
    assert rows(made)[4][5] == "7.5"
    assert any("No row of their own was found for 12" in problem for problem in made.problems)
    nickname = replace(named(ADA, "12"), known_as=("Benny Franklin",))
    assert rows(canvas(course, [nickname], ExportOptions(None, CANVAS.encode(), "Slopes")))[4][5] != "7.5"


def test_a_row_and_a_column_are_found_in_another_unicode_spelling(course: Course) -> None:
    sheet = CANVAS.replace("Lovelace, Ada", "Müller, Jürgen").replace("Slopes", "Übung")
    for form, other in (("NFC", "NFD"), ("NFD", "NFC")):
        own = named(ADA, unicodedata.normalize(other, "Jürgen Müller"))
        column = unicodedata.normalize(other, "Übung")
        made = canvas(course, [own], ExportOptions(None, unicodedata.normalize(form, sheet).encode(), column))
        assert rows(made)[3][5] != "10.00"


@pytest.mark.parametrize("out_of", [None, 5.0])
def test_only_points_scaled_to_what_the_file_says_are_said_to_be(course: Course, out_of: float | None) -> None:
    made = canvas(course, [named(BEN, "Ben Franklin")], ExportOptions(out_of, CANVAS.encode(), "Slopes"))
    assert any("scaled to what the file says" in note for note in made.notes) == (out_of is None)


def test_points_that_are_not_scaled_are_said_not_to_be(course: Course) -> None:
    """A column with 0 possible points got the course's points without a word, and then for a reason that is untrue."""
    reasons = {
        "10.00": "",
        "": "The file does not say how many points there are, so none are scaled; --out-of N names a number.",
        "0": "The file says that 0 points are possible, so none are scaled; --out-of N names another number.",
    }
    for possible, says in reasons.items():
        sheet = CANVAS.replace("Points Possible,,,,,10.00", f"Points Possible,,,,,{possible}").encode()
        for out_of in (None, 5.0):
            made = canvas(course, [named(BEN, "Ben Franklin")], ExportOptions(out_of, sheet, "Slopes"))
            noted = [note for note in made.notes if "none are scaled" in note]
            assert noted == ([says] if says and out_of is None else [])


def test_more_points_than_the_file_says_that_there_are(course: Course) -> None:
    """Moodle was sent grades above its maximum, which it ignores."""
    records = [named(ADA, "Ada Lovelace"), named(BEN, "Ben Franklin")]
    made = canvas(course, records, ExportOptions(20, CANVAS.encode(), "Slopes"))
    assert [row[5] for row in rows(made)[3:5]] == ["20", "8"]
    assert "The file says that 10 points are possible, fewer than --out-of names." in made.notes
    with pytest.raises(UsageError, match=r"--out-of 60 is above the maximum grade in the worksheet, 50, and"):
        moodle(course, records, ExportOptions(60, MOODLE.encode()))
    for out_of in (50, 40):
        assert rows(moodle(course, records, ExportOptions(out_of, MOODLE.encode())))[1][4] == str(out_of)


def test_whose_points_are_entered_by_hand_is_named_however_many_they_are(course: Course) -> None:
    """Five were named "and 26 more", and nothing named those."""
    strangers = [f"stranger {number}" for number in range(12)]
    for known in ("Ben Franklin", "nobody"):
        records = [named(BEN, student) for student in (known, *strangers)]
        (problem,) = canvas(course, records, ExportOptions(sheet=CANVAS.encode(), column="Slopes")).problems
        if known == "nobody":
            assert "for nobody, stranger 0, stranger 1, stranger 2, stranger 3 and 8 more: grade the class" in problem
        else:
            assert problem == f"No row of their own was found for {', '.join(strangers)}: enter their points by hand."


def test_who_is_excused_in_canvas_stays_excused(course: Course) -> None:
    sheet = CANVAS.replace("7.5,40.00", "EX,40.00")
    records = [named(ADA, "ada@uni.edu"), named(BEN, "Ben Franklin")]
    made = canvas(course, records, ExportOptions(sheet=sheet.encode(), column="Slopes"))
    assert [row[5] for row in rows(made)[3:5]] == ["10", "EX"]
    assert "Excused there, and left as they are: Ben Franklin." in made.notes


def test_canvas_gets_points_in_one_column_and_nothing_else_changes(course: Course) -> None:
    records = [named(ADA, "ada@uni.edu"), named(BEN, "Ben Franklin")]
    made = canvas(course, records, ExportOptions(sheet=CANVAS.encode(), column="Linear, by hand"))
    expected = CANVAS.replace("10.00,,100.00", "10.00,100,100.00").replace("7.5,40.00", "7.5,40")
    assert made.files["canvas.csv"].decode() == expected
    assert made.problems == ()
    assert made.notes[0] == "2 of 2 rows filled; 0 had other points before."


@pytest.mark.parametrize(
    "student",
    ["12", "S-2", "bfr", "BFR", "Franklin, Ben", "Ben Franklin", "ben_franklin", "franklinben", " Ben  Franklin "],
)
def test_a_student_is_known_by_number_login_or_name(course: Course, student: str) -> None:
    made = canvas(
        course, [named(BEN, student)], ExportOptions(sheet=CANVAS.encode(), column="Linear, by hand (902)", out_of=5)
    )
    assert [row[6] for row in rows(made)[3:]] == ["", "2", ""]
    assert made.notes[0].endswith("1 had other points before.")


def test_points_are_written_with_the_decimal_comma_of_the_file(course: Course) -> None:
    sheet = CANVAS.replace(",", ";").replace("Lovelace;", "Lovelace,").replace("Franklin;", "Franklin,")
    sheet = sheet.replace("7.5", "7,5").replace("10.00", "10,00").replace("Linear; by", "Linear, by")
    records = [named(ADA, "ada@uni.edu"), named(BEN, "Ben Franklin")]
    made = canvas(course, records, ExportOptions(12.5, sheet.encode(), "Slopes"))
    assert made.files["canvas.csv"].decode() == sheet.replace(
        'S-1;ada@uni.edu;"Sect. ""A""";10,00', 'S-1;ada@uni.edu;"Sect. ""A""";12,5'
    ).replace(";7,5;", ";5;")


def test_a_login_without_letters_or_digits_is_found_as_it_is_spelled(course: Course) -> None:
    sheet = CANVAS.replace("bfr", "😀")
    assert sheet != CANVAS
    made = canvas(course, [named(BEN, "😀")], ExportOptions(sheet=sheet.encode(), column="Slopes", out_of=5))
    assert (made.problems, [row[5] for row in rows(made)[3:]]) == ((), ["10.00", "2", ""])


@pytest.mark.parametrize("student", ["Ben", "1", "Section B", "nobody", "", "40.00", "Franklin"])
def test_a_student_without_a_row_is_named_and_enters_nothing(course: Course, student: str) -> None:
    made = canvas(course, [named(BEN, student)], ExportOptions(sheet=CANVAS.encode(), column="Slopes"))
    assert made.files["canvas.csv"].decode() == CANVAS
    assert len(made.problems) == 1


@pytest.mark.parametrize("column", ["ID", "SIS Login ID", "Section"])
def test_a_column_that_takes_no_points_is_refused_and_not_offered(course: Course, column: str) -> None:
    with pytest.raises(UsageError) as refused:
        canvas(course, [ADA], ExportOptions(sheet=CANVAS.encode(), column=column))
    assert str(refused.value) == (
        f"{column} is no column for points. Name one with --column. There are: Slopes (901), Linear, by hand (902), "
        "Current Score, Final Score."
    )
    with pytest.raises(UsageError, match=r"^Status is no column for points\. .* There are: Grade\.$"):
        moodle(course, [ADA], ExportOptions(sheet=MOODLE.encode(), column="Status"))


@pytest.mark.parametrize("heading", ["Maximum Grade", "Feedback comments"])
def test_a_worksheet_that_has_a_column_twice_is_refused(course: Course, heading: str) -> None:
    head, rest = MOODLE.split("\n", 1)
    with pytest.raises(UsageError, match=f"several columns '{heading}': remove all but one"):
        moodle(course, [ADA], ExportOptions(sheet=f"{head},{heading}\n{rest}".encode()))


def test_a_column_that_canvas_computes_takes_no_points(course: Course) -> None:
    """It was filled, and Canvas does not import it."""
    options = ExportOptions(sheet=CANVAS.encode(), column="Final Score")
    with pytest.raises(UsageError, match=r"^Canvas does not import the column Final Score, .* with --column\.$"):
        canvas(course, [named(BEN, "Ben Franklin")], options)


def test_a_gradebook_of_canvas_is_no_worksheet_of_moodle(course: Course) -> None:
    with pytest.raises(UsageError, match="This is a gradebook of Canvas, and no grading worksheet of Moodle"):
        moodle(course, [ADA], ExportOptions(sheet=CANVAS.encode()))


def test_two_records_of_one_row_enter_nothing(course: Course) -> None:
    records = [named(BEN, "12"), named(ADA, "Ben Franklin")]
    made = canvas(course, records, ExportOptions(sheet=CANVAS.encode(), column="Slopes"))
    assert made.files["canvas.csv"].decode() == CANVAS
    assert "12, Ben Franklin" in made.problems[0]


def test_an_exact_name_has_its_row_before_one_with_other_capitals(course: Course) -> None:
    records = [named(ADA, "BFR"), named(BEN, "bfr"), named(EVE, "Bfr")]
    made = canvas(course, records, ExportOptions(sheet=CANVAS.encode(), column="Slopes", out_of=5))
    assert [row[5] for row in rows(made)[3:]] == ["10.00", "2", ""]
    assert "No row of their own was found for BFR:" in made.problems[0], "Bfr has no points to enter"


def test_a_download_that_was_graded_without_a_roster_finds_its_rows(course: Course) -> None:
    """Defect 23: records are called `Ada Lovelace_411` and `lovelaceada_11`, and no row was filled."""
    made = moodle(course, [named(ADA, "Ada Lovelace_411"), named(BEN, "Ben Franklin_412")],
                  ExportOptions(sheet=MOODLE.encode()))  # fmt: skip
    assert ([row[4] for row in rows(made)[1:]], made.problems) == (["50", "20"], ())
    made = canvas(course, [named(ADA, "lovelaceada_11"), named(BEN, "franklinben_12")],
                  ExportOptions(sheet=CANVAS.encode(), column="Slopes"))  # fmt: skip
    assert ([row[5] for row in rows(made)[3:5]], made.problems) == (["10", "4"], ())


def test_a_name_without_its_accents_and_with_its_number_finds_its_row(course: Course) -> None:
    """Canvas downloads the files of `Müller, Bob` as those of `mullerbob_12`."""
    sheet = CANVAS.replace("Franklin, Ben", "Müller, Bob")
    for student, points in (("mullerbob_12", "4"), ("mullerbob_11", "7.5"), ("mullerbob", "7.5")):
        made = canvas(course, [named(BEN, student)], ExportOptions(sheet=sheet.encode(), column="Slopes"))
        assert [row[5] for row in rows(made)[3:5]] == ["10.00", points]
        assert bool(made.problems) == (points == "7.5")


@pytest.mark.parametrize("student", ["Ada Lovelace_412", "Cem Oz_411", "lovelaceada_12", "ada_411"])
def test_a_number_of_somebody_else_finds_no_row(course: Course, student: str) -> None:
    for platform, sheet in ((moodle, MOODLE), (canvas, CANVAS)):
        made = platform(
            course,
            [named(ADA, student)],
            ExportOptions(sheet=sheet.encode(), column="" if platform is moodle else "Slopes"),
        )
        assert next(iter(made.files.values())).decode() == sheet
        assert made.problems


def test_a_number_of_the_roster_that_is_another_students_in_canvas_enters_nothing(course: Course) -> None:
    """The two exchanged their grades: each one's number was the other's in Canvas."""
    records = [
        replace(named(ADA, "12"), known_as=("Ada Lovelace",)),
        replace(named(BEN, "11"), known_as=("Ben Franklin",)),
    ]
    made = canvas(course, records, ExportOptions(None, CANVAS.encode(), "Slopes"))
    assert made.files["canvas.csv"] == CANVAS.encode()
    assert "12, 11" in made.problems[0] or "12 and 11" in made.problems[0]
    right = [replace(record, student=number) for record, number in zip(records, ("11", "12"), strict=True)]
    assert not canvas(course, right, ExportOptions(None, CANVAS.encode(), "Slopes")).problems


def test_two_students_whose_names_are_in_the_other_order_get_no_points(course: Course) -> None:
    sheet = CANVAS.replace("Lovelace, Ada", "Lee, Kim").replace("Franklin, Ben", "Kim, Lee")
    records = [named(ADA, "Kim Lee"), named(BEN, "Lee Kim")]
    made = canvas(course, records, ExportOptions(None, sheet.encode(), "Slopes"))
    assert made.files["canvas.csv"] == sheet.encode()
    assert made.problems
    alone = sheet.replace("Kim, Lee", "Franklin, Ben")
    assert not canvas(course, records[:1], ExportOptions(None, alone.encode(), "Slopes")).problems


def test_a_login_made_of_a_name_fits_no_row_where_another_name_is_its_reverse(course: Course) -> None:
    """The points of kimray, who is Kim Ray, were entered for Ray Kim, and Ray Kim was said to have no row."""
    both = CANVAS.replace("Lovelace, Ada", "Kim, Ray").replace("Franklin, Ben", "Ray, Kim")
    records = [
        replace(named(BEN, "kimray"), known_as=("Kim Ray",)), replace(named(ADA, "rkim"), known_as=("Ray Kim",))
    ]  # fmt: skip
    made = canvas(course, records, ExportOptions(sheet=both.encode(), column="Slopes"))
    assert made.files["canvas.csv"] == both.encode()
    assert "kimray, rkim" in made.problems[0]
    alone = canvas(
        course, records[:1], ExportOptions(sheet=both.replace("Kim, Ray", "Lee, Bo").encode(), column="Slopes")
    )
    assert (rows(alone)[4][5], alone.problems) == ("4", ())


def test_a_login_made_of_a_name_fits_no_row_if_its_student_has_another_name(course: Course) -> None:
    twins = CANVAS.replace("Student, Test", "Franklin, Ben")
    record = replace(named(ADA, "lovelaceada"), known_as=("Ben Franklin",))
    made = canvas(course, [record], ExportOptions(sheet=twins.encode(), column="Slopes"))
    assert made.files["canvas.csv"] == twins.encode()


def test_a_record_named_by_a_login_is_found_by_its_names_on_the_roster(course: Course) -> None:
    """Hardly any row was filled where the class had a roster of its own, and the platform no logins."""
    records = [
        replace(named(ADA, "al1"), known_as=("7", "Ada Lovelace", "ada@uni.edu")),
        replace(named(BEN, "bf2"), known_as=("ben@uni.edu", "hw-ben")),
        replace(named(BEN, "bf3"), known_as=("bfr", "Bo Frey")),  # the login of Ben Franklin in Canvas
    ]
    made = moodle(course, records, ExportOptions(sheet=MOODLE.encode()))
    assert [row[4] for row in rows(made)[1:]] == ["50", "20"]
    assert made.problems == ("No row of their own was found for bf3: enter their points by hand.",)
    made = canvas(course, records, ExportOptions(sheet=CANVAS.encode(), column="Slopes"))
    assert [row[5] for row in rows(made)[3:5]] == ["10", "7.5"]
    assert "bf2, bf3" in made.problems[0]


def test_a_row_of_a_namesake_with_another_address_or_login_gets_no_points(course: Course) -> None:
    """The points of al1 went to another Ada Lovelace, also where she is on the same roster."""
    al1 = replace(named(ADA, "al1"), known_as=("Ada Lovelace", "al1@uni.edu"))
    namesake = replace(named(BEN, "ada"), known_as=("Ada Lovelace", "ada@uni.edu"))
    made = moodle(course, [al1], ExportOptions(sheet=MOODLE.encode()))
    assert made.files["moodle.csv"] == MOODLE.encode()
    assert "row with a name or a number of al1, but" in made.problems[1]
    for records in ([al1, namesake], [namesake, al1]):
        made = moodle(course, records, ExportOptions(sheet=MOODLE.encode()))
        assert [row[4] for row in rows(made)[1:]] == ["20", "12.00"]
        assert made.problems[0] == "No row of their own was found for al1: enter their points by hand."
    logins = CANVAS.replace("ada@uni.edu", "ada")
    for known_as in (("Ada Lovelace",), ("Ada Lovelace", "al1@uni.edu")):
        record = replace(named(BEN, "al1"), known_as=known_as)
        made = canvas(course, [record], ExportOptions(sheet=logins.encode(), column="Slopes"))
        assert made.files["canvas.csv"] == logins.encode()
    with_zeros = MOODLE.replace("Full name", "Full name,ID number").replace("Lovelace,", "Lovelace,0123,")
    for number, points in (("123", "50"), ("124", "")):
        record = replace(named(ADA, "al1"), known_as=("Ada Lovelace", number))
        assert rows(moodle(course, [record], ExportOptions(sheet=with_zeros.encode())))[1][5] == points


def test_addresses_of_another_kind_than_those_of_the_class_contradict_no_name(course: Course) -> None:
    records = [
        replace(named(ADA, "al1"), known_as=("Ada Lovelace", "al1@home.org")),
        replace(named(BEN, "bf2"), known_as=("Ben Franklin", "bf2@home.org")),
    ]
    made = moodle(course, records, ExportOptions(sheet=MOODLE.encode()))
    assert ([row[4] for row in rows(made)[1:]], made.problems) == (["50", "20"], ())
    says = "Found by the name alone, since the file has other addresses, logins or numbers than the results: al1, bf2."
    assert says in made.notes


def test_a_number_or_login_that_is_another_persons_on_the_platform_gets_no_points(course: Course) -> None:
    """A roster's numbers and logins may be of another kind than those of the platform."""
    options = ExportOptions(None, CANVAS.encode(), "Slopes")
    ada = replace(named(ADA, "al1"), known_as=("Ada Lovelace", "ada@uni.edu"))
    for student, known_as in (
        ("12", ("Cem Oz",)), ("12", ("cem@uni.edu",)), ("bfr", ("Cem Oz",)), ("S-2", ("Cem Oz", "cem@uni.edu")),
    ):  # fmt: skip
        made = canvas(course, [ada, replace(named(BEN, student), known_as=known_as)], options)
        assert [row[5] for row in rows(made)[3:5]] == ["10", "7.5"]
        assert f"for {student}: enter their points by hand" in made.problems[0]
    for student, known_as in (("12", ("Benny Franklin",)), ("12", ("bfr@uni.edu",)), ("S-2", ("富兰克林 本",))):
        made = canvas(course, [ada, replace(named(BEN, student), known_as=known_as)], options)
        assert (rows(made)[4][5], made.problems) == ("4", ())
    made = canvas(course, [replace(named(BEN, "bfr"), known_as=("Cem Oz",))], options)
    assert rows(made)[4][5] == "4", "the file may have other names than the roster"
    assert "Found by a login or number alone, since the file has other names than the results: bfr." in made.notes


def test_logins_that_differ_in_capital_letters_have_rows_of_their_own(course: Course) -> None:
    both = CANVAS.replace("ada@uni.edu", "Bfr")
    records = [named(ADA, "Bfr"), named(BEN, "bfr")]
    made = canvas(course, records, ExportOptions(sheet=both.encode(), column="Slopes"))
    assert ([row[5] for row in rows(made)[3:5]], made.problems) == (["10", "4"], ())


def test_two_rows_with_the_same_name_get_no_points(course: Course) -> None:
    twins = CANVAS.replace("Lovelace, Ada", "Franklin, Ben")
    made = canvas(course, [named(BEN, "Ben Franklin")], ExportOptions(sheet=twins.encode(), column="Slopes"))
    assert made.files["canvas.csv"].decode() == twins
    assert made.problems


@pytest.mark.parametrize("platform", [canvas, moodle])
def test_an_error_leaves_the_cell_unchanged(course: Course, platform: object) -> None:
    sheet = CANVAS if platform is canvas else MOODLE
    wanted = ExportOptions(sheet=sheet.encode(), column="Linear, by hand" if platform is canvas else "")
    made = platform(course, [named(EVE, "Ben Franklin")], wanted)  # type: ignore[operator]
    assert next(iter(made.files.values())).decode() == sheet


def test_an_ambiguous_column_is_refused(course: Course) -> None:
    with pytest.raises(UsageError, match=r"--column. There are: Slopes \(901\), Linear, by hand \(902\)\.$"):
        canvas(course, [BEN], ExportOptions(sheet=CANVAS.encode()))
    with pytest.raises(UsageError, match="--column"):
        canvas(course, [BEN], ExportOptions(sheet=CANVAS.encode(), column="Linear"))
    one = CANVAS.replace('"Linear, by hand (902)"', "Total Final Score")
    assert rows(canvas(course, [named(ADA, "11")], ExportOptions(sheet=one.encode())))[3][5] == "10"


@pytest.mark.parametrize("sheet", ["", "\n", "a,b\n1,2\n", MOODLE])
def test_a_file_that_is_not_canvas_gradebook_is_refused(course: Course, sheet: str) -> None:
    with pytest.raises(UsageError, match=r"Canvas|empty"):
        canvas(course, [BEN], ExportOptions(sheet=sheet.encode(), column="Grade"))


@pytest.mark.parametrize("platform", [canvas, moodle])
def test_a_missing_sheet_is_explained_with_the_menu_to_export_it(course: Course, platform: object) -> None:
    with pytest.raises(UsageError, match=r"export it \(.+\), and name it with --fill"):
        platform(course, [BEN], ExportOptions())  # type: ignore[operator]


def test_moodle_gets_points_and_feedback(course: Course) -> None:
    records = [named(ADA, "Ada Lovelace_411_assignsubmission_file_"), named(BEN, "ben@uni.edu")]
    made = moodle(course, records, ExportOptions(sheet=MOODLE.encode()))
    before, found = list(csv.reader(io.StringIO(MOODLE, newline=""))), rows(made)
    assert [row[4] for row in found[1:]] == ["50", "20"]
    assert found[1][9] == "<p>5 of 5 points</p>"
    assert "<b>lin_grad w.g</b> (0 of 1): every entry is 1/7 of what it should be" in found[2][9]
    assert [row[:4] + row[5:9] for row in found] == [row[:4] + row[5:9] for row in before]
    assert made.notes[0] == "2 of 2 rows filled; 1 had other points before."
    assert "No comments" not in " ".join(made.notes)
    german = MOODLE.replace("Feedback comments", "Feedback als Kommentar")
    made = moodle(course, records, ExportOptions(sheet=german.encode()))
    assert "No comments are written: the file has no column Feedback comments." in made.notes


def test_the_comment_in_moodle_says_what_a_person_has_graded(course: Course) -> None:
    by_hand = replace(EVE, adjustments=(Adjustment("relu_grad", 1.0, "read by hand"),))
    made = moodle(course, [named(by_hand, "Ada Lovelace")], ExportOptions(sheet=MOODLE.encode()))
    comment = rows(made)[1][9]
    assert "<li><b>relu_grad</b>: graded by a person</li><li>adjustment relu_grad (+1 points): read by hand" in comment
    assert "the worker is gone" not in comment


def test_moodle_in_another_language_takes_the_column_that_is_named(course: Course) -> None:
    german = MOODLE.replace("Grade,", "Bewertung,", 1).replace("Maximum Grade", "Beste Bewertung")
    german = german.replace("Participant ", "Teilnehmer/in").replace(",", ";")
    made = moodle(
        course, [named(BEN, "x_412_assignsubmission_file_")], ExportOptions(sheet=german.encode(), column="bewertung")
    )
    table = CellTable(made.files["moodle.csv"])
    assert [table.values(row)[4] for row in (1, 2)] == ["", "2"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_one_cell_of_escaped_words(course: Course, text: str) -> None:
    record = named(handed(result("x", wrong("inp.g", "error", text, text), passed("w.g"))), "411 x")
    made = moodle(course, [named(record, "Ada Lovelace")], ExportOptions(sheet=MOODLE.encode()))
    found, before = rows(made), list(csv.reader(io.StringIO(MOODLE, newline="")))
    assert [len(row) for row in found] == [len(row) for row in before]
    assert found[1][4] == "33.333"
    assert not found[1][9].startswith(("=", "+", "-", "@", "\t", "\r"))
    tags = _Tags()
    tags.feed(found[1][9])
    assert set(tags.seen) == {"p", "ul", "li", "b", "br"} - (set() if text else {"br"})
    assert canvas(course, [named(record, text)], ExportOptions(sheet=CANVAS.encode(), column="Slopes")).problems


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert not attrs
        self.seen.append(tag)


CELLS = st.text(alphabet='ab",;\t\r\n \ufeffé', max_size=8)


@given(st.lists(CELLS, min_size=1, max_size=12).map("".join))
@example('"a""b",c\r\n"d\ne",f')
@example('a,"unfinished')
@example('x"y"z,"q"r,\n')
@example("a\n\n")
def test_any_file_is_written_unchanged(text: str) -> None:
    content = f"h{text}".encode()
    assert CellTable(content).content() == content


@given(st.lists(st.lists(st.text('ab",;\n é', max_size=5), min_size=2, max_size=4), min_size=1, max_size=4))
def test_cells_are_those_that_pythons_reader_finds(found: list[list[str]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([["h,", "h,"], *found])
    table = CellTable(text.getvalue().encode())
    assert [table.values(row) for row in range(len(table.rows))] == [["h,", "h,"], *found]


def test_a_file_that_is_no_utf8_stays_in_its_encoding() -> None:
    table = CellTable("Né,b\n1,2\n".encode("latin-1"))
    table.put(1, 1, "\N{GREEK SMALL LETTER ALPHA}, \xe9")
    assert table.content() == b'N\xe9,b\n1,"&#945;, \xe9"\n'

"""The one student on a roster whose submission something is: exact names first, and a tie is an error."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from helpers.platforms import MEAN, RIGHT, put, zipped
from test_class_grading import names_of, small_course

from grader.classroom.class_folder import ClassFolder, LayoutName, find_student, find_submissions
from grader.classroom.platform_names import Submission, folded_name
from grader.classroom.roster import Match, Naming, Roster, RosterStudent, keys_of_records, match_roster, read_roster
from grader.classroom.submissions import read_submission
from grader.course.course import PACKAGE, Course
from grader.errors import UsageError


@pytest.fixture(scope="module")
def course() -> Course:
    return small_course(PACKAGE.parent)


def decomposed(name: str) -> str:
    """Return a name with each accent as a character of its own, as macOS writes it."""
    return unicodedata.normalize("NFD", name)


def by_conflict(found: ClassFolder) -> dict[str, bool]:
    return {submission.key: bool(submission.conflict) for submission in found.submissions}


def matched(
    course: Course, tmp_path: Path, names: list[str], text: str, layout: LayoutName = "plain", **aliases: str
) -> ClassFolder:
    path = put(tmp_path / "in", {f"{name}/lin_grad.py": RIGHT for name in names})
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    found = find_submissions(course, path, tmp_path / "out", layout)
    return match_roster(found, read_roster(tmp_path / "roster.csv", aliases))


def owners(found: ClassFolder) -> dict[str, str]:
    """Return the key that each submission was graded under, by its origin."""
    return {submission.origin: submission.key for submission in found.submissions}


GRADEBOOK = 'Student,ID,SIS Login ID,Section\n"L, Ada",201,ada,A\n"F, Ben",202,ben,A\n"O, Cem",203,cem,A\n'
WORKSHEET = "Identifier,Full name,Email address\n" + "".join(
    f"Participant {number},{name},{key}\n"
    for number, name, key in ((101, "Ada L", "ada"), (102, "Ben F", "ben"), (103, "Cem O", "cem"))
)
LOGINS = "identifier,github_username\nada,ada-l\nben,benf\ncem,cem\n"


@pytest.mark.parametrize(
    ("files", "text", "layout"),
    [
        (("Team 1-Ada L_101", "Team 1-Ben F_102", "Default group-Cem O_103"), WORKSHEET, "moodle"),
        (("team1_201_9001", "team1_202_9001", "ocem_203_9002"), GRADEBOOK, "canvas"),
        (("lin-alg-ada-l", "lin-alg-benf", "lin-alg-cem"), LOGINS, "github"),
        (("ada", "ben", "cem"), "username\nada\nben\ncem\n", "plain"),
    ],
)
def test_each_member_of_a_group_has_the_copy_that_the_page_describes(course, tmp_path, files, text, layout) -> None:
    shape = {"moodle": "{}_assignsubmission_file/lin_grad.py", "canvas": "{}_lin_grad.py"}.get(layout, "{}/lin_grad.py")
    put(tmp_path / "in", {shape.format(name): RIGHT for name in files})
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    found = find_submissions(course, tmp_path / "in", tmp_path / "out", None if layout != "github" else layout)
    found = match_roster(found, read_roster(tmp_path / "roster.csv"))
    assert (found.layout_name, by_conflict(found)) == (layout, dict.fromkeys(("ada", "ben", "cem"), False))
    assert (found.absent, found.unlisted) == ((), ())


def test_a_key_goes_before_a_part_of_an_address(course, tmp_path) -> None:
    found = matched(
        course, tmp_path, ["ann@x.edu", "ann", "cem"],
        "username,email\nann7,ann@x.edu\nann,ann@y.edu\ncem,c@x.edu\n",
    )  # fmt: skip
    assert owners(found) == {"ann@x.edu": "ann7", "ann": "ann", "cem": "cem"}
    assert (found.absent, found.unlisted) == ((), ())


def test_a_key_goes_before_a_number_in_another_column(course, tmp_path) -> None:
    found = matched(course, tmp_path, ["1", "2", "3"], "id,github id\n1,2\n2,3\n3,1\n")
    assert owners(found) == {"1": "1", "2": "2", "3": "3"}


STUDENTS = (
    RosterStudent("ann", frozenset({"Ann Lee", "7"}), frozenset({"Lee Ann", "a.lee"})),
    RosterStudent("bob", frozenset({"Bob", "Wei"}), frozenset({"bo"})),
    RosterStudent("cem", frozenset({"BOB", "Wei", "ann"}), section="A"),
    RosterStudent("Ann"),
)


@pytest.mark.parametrize(
    ("submission", "match"),
    [
        (Submission("ann", ()), Match((0,), "key")),
        (Submission("Ann", ()), Match((3,), "key")),
        (Submission("ANN", ()), Match((0, 3), "folded")),
        (Submission("ann lee", ()), Match((0,), "folded")),
        (Submission("Bob", ()), Match((1,), "exact")),
        (Submission("BOB", ()), Match((2,), "exact")),
        (Submission("Wei", ()), Match((1, 2), "exact")),
        (Submission("Wei", (), section="a"), Match((2,), "exact")),
        (Submission("Wei", (), section="C"), Match((1, 2), "exact")),
        (Submission("x", (), frozenset({"7", "Wei"})), Match((0,), "exact")),
        (Submission("x", (), frozenset({"7", "Bob"})), Match((0, 1), "exact")),
        (Submission("lee ann", ()), Match((0,), "derived")),
        (Submission("hw-bob", (), guesses=frozenset({"bob"})), Match((1,), "derived")),
        (Submission("hw-ann-bob", (), guesses=frozenset({"bob", "ann-bob", "7"})), Match((0, 1), "derived")),
        (Submission("nick", ()), Match((2,), "exact")),
        (Submission("nobody", ()), Match()),
    ],
    ids=lambda value: value.key if isinstance(value, Submission) else "",
)
def test_a_submission_is_looked_up_exactly_first(submission, match) -> None:
    assert Roster(STUDENTS, {"nick": "cem"}).find(submission) == match


def test_a_repository_that_ends_like_two_logins_is_an_error_of_who_has_no_other(course, tmp_path) -> None:
    put(
        tmp_path / "in",
        {f"hw-{name}/{file}": RIGHT for name in ("ada", "not-ada") for file in (".git/HEAD", "lin_grad.py")},
    )
    (tmp_path / "roster.csv").write_text("name,github username\nAda,ada\nNota,not-ada\n", encoding="utf-8")
    submissions = find_submissions(course, tmp_path / "in", tmp_path / "out", "plain")
    found = match_roster(submissions, read_roster(tmp_path / "roster.csv"))
    assert by_conflict(found) == {"ada": False, "hw-not-ada": True, "not-ada": True}
    assert found.absent == (), "nobody is told to have handed in nothing"


@pytest.mark.parametrize(
    "text",
    [
        'Student,ID,SIS Login ID\n"Ray, Kim",205,kray\n"Kim, Ray",206,rkim\n',
        "Name,ID,Login\nKim Ray,205,kray\nRay Kim,206,rkim\n",
    ],
)
def test_a_number_tells_two_students_apart_whose_names_are_each_others_reverse(course, tmp_path, text) -> None:
    """Both were errors, though Canvas's own number was in the line of one of them alone."""
    put(tmp_path / "in", {"raykim_205_1_lin_grad.py": RIGHT, "kimray_206_2_lin_grad.py": RIGHT})
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    submissions = find_submissions(course, tmp_path / "in", tmp_path / "out", "canvas")
    found = match_roster(submissions, read_roster(tmp_path / "roster.csv"))
    assert {each.key: each.conflict for each in found.submissions} == {"kray": "", "rkim": ""}
    assert {each.key: each.origin for each in found.submissions} == {"kray": "raykim_205", "rkim": "kimray_206"}


@pytest.mark.parametrize(
    "names",
    [
        ("शर्मा, प्रिया", "वर्मा, किरण"),
        ("ใจดี, สมหญิง", "มีสุข, วันเพ็ญ"),
        ("مُحَمَّد, عَلِيّ", "حَسَن, زَيْنَب"),
        (decomposed("Weiß, Jörg"), decomposed("Øster, Zoë")),
    ],
    ids=["Hindi", "Thai", "Arabic", "decomposed"],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_that_canvas_gives_keep_their_combining_marks(course, tmp_path, names, form) -> None:
    """Such a file was "not named as there", and its student had handed in nothing."""
    stems = [unicodedata.normalize(form, name).replace(", ", "") for name in names]
    put(tmp_path / "in", {f"{stem}_{n}_900{n}_lin_grad.py": RIGHT for n, stem in enumerate(stems, 1)})
    lines = "".join(f'"{name}",{n},{key}\n' for n, (name, key) in enumerate(zip(names, "ab", strict=True), 11))
    (tmp_path / "roster.csv").write_text(f"Student,ID,SIS Login ID\n{lines}", encoding="utf-8")
    found = find_submissions(course, tmp_path / "in", tmp_path / "out")
    found = match_roster(found, read_roster(tmp_path / "roster.csv"))
    assert (found.layout_name, by_conflict(found)) == ("canvas", {"a": False, "b": False})
    assert (found.absent, found.unlisted) == ((), ())


def from_canvas(course: Course, tmp_path: Path, stems: Sequence[str], lines: str, **aliases: str) -> ClassFolder:
    """Return a download from Canvas of these students, with the numbers of uploads, matched with its gradebook."""
    put(tmp_path / "in", {f"{stem}_{9000 + n}_lin_grad.py": RIGHT for n, stem in enumerate(stems)})
    (tmp_path / "roster.csv").write_text(f"Student,ID,SIS Login ID,Email\n{lines}", encoding="utf-8")
    found = find_submissions(course, tmp_path / "in", tmp_path / "out", "canvas")
    return match_roster(found, read_roster(tmp_path / "roster.csv", aliases))


@pytest.mark.parametrize(
    ("stems", "lines", "expected", "absent"),
    [
        (
            ["lovelaceada_201", "smithbob_203"],
            '"Lovelace, Ada",201,ada,\n"Smith, Bob",203,bs2,\n"Smith, Bob",206,203,\n',
            {"lovelaceada_201": "ada", "smithbob_203": "bs2"},
            ("203",),
        ),
        (
            ["smithbob_203", "smithbob_206"],
            '"Smith, Bob",203,bs2,\n"Smith, Bob",206,203,\n',
            {"smithbob_203": "bs2", "smithbob_206": "203"},
            (),
        ),
        (
            ["smithbob_203", "bobsmith_206"],
            '"Smith, Bob",203,bs2,\n"Bob, Smith",206,203,\n',
            {"smithbob_203": "bs2", "bobsmith_206": "203"},
            (),
        ),
        (
            ["lovelaceada_201", "roecyd_202", "smithbob_203"],
            '"Lovelace, Ada",201,202,\n"Roe, Cyd",202,203,\n"Smith, Bob",203,201,\n',
            {"lovelaceada_201": "202", "roecyd_202": "203", "smithbob_203": "201"},
            (),
        ),
        (
            ["smithbob_203"],
            '"Smith, Bob",203,bs2,\n"Smith, Brian",206,smithbob,\n"Roe, Cyd",207,smithbob_203,\n',
            {"smithbob_203": "bs2"},
            ("smithbob", "smithbob_203"),
        ),
        (
            ["smithbob_203", "newcomer_500", "later_0600", "last_700"],
            '"Smith, Bob",203,bs2,203@x.edu\n"Roe, Cyd",207,500,\n"Poe, Eva",208,600,\n"Foe, Dan",209,dan,700@x.edu\n',
            {"smithbob_203": "bs2", "newcomer_500": "newcomer_500", "later_0600": "later_0600", "last_700": "last_700"},
            ("500", "600", "dan"),
        ),
    ],
    ids=["namesake absent", "namesakes", "reverse names", "logins permuted", "logins are names", "number of nobody"],
)
def test_the_number_from_canvas_is_that_of_the_column_id(course, tmp_path, stems, lines, expected, absent) -> None:
    """The work of bs2 was that of the namesake with the login 203, and bs2 had handed in nothing."""
    found = from_canvas(course, tmp_path, stems, lines)
    assert {submission.origin or submission.key: submission.key for submission in found.submissions} == expected
    assert not any(by_conflict(found).values())
    assert found.absent == absent


@pytest.mark.parametrize(("alias", "is_known"), [("smithbob_203", True), ("500", True), ("smithbob", False)])
def test_an_alias_goes_before_the_name_and_number_from_canvas(course, tmp_path, alias: str, is_known: bool) -> None:
    lines = '"Smith, Bob",203,bs2,\n"Smith, Bob",206,bs3,\n'
    stem = "newcomer_500" if alias == "500" else "smithbob_203"
    found = from_canvas(course, tmp_path, [stem], lines, **{alias: "bs3"})
    assert by_conflict(found) == ({"bs3": False} if is_known else {"bs2": True, "bs3": True, "smithbob_203": True})


@pytest.mark.parametrize("has_own", [True, False])
def test_a_stranger_with_the_name_of_a_student_and_another_number_is_not_that_student(
    course, tmp_path, has_own: bool
) -> None:
    """The stranger's points were the student's; or the newer submission of the two counted alone."""
    gradebook = 'Student,ID,SIS Login ID,Section\n"Smith, Bobby",205,smithbob,S\n"Lovelace, Ada",201,ada,S\n'
    (tmp_path / "gradebook.csv").write_text(gradebook)
    names = ["smithbobby_207_9003", "smithbob_208_9004", "lovelaceada_201_9001", *["smithbobby_205_9002"] * has_own]
    put(tmp_path / "in", {f"{name}_lin_grad.py": RIGHT for name in names})
    found = match_roster(
        find_submissions(course, tmp_path / "in", tmp_path / "out", "canvas"), read_roster(tmp_path / "gradebook.csv")
    )
    assert sorted(by_conflict(found)) == ["ada", *["smithbob"] * has_own, "smithbob_208", "smithbobby_207"]
    assert not any(by_conflict(found).values())
    assert found.absent == (() if has_own else ("smithbob",))


def test_a_stranger_in_moodle_is_not_the_student_of_the_same_name(course, tmp_path) -> None:
    (tmp_path / "sheet.csv").write_text("Identifier,Full name\nParticipant 103,Bob Smith\nParticipant 101,Ada Lo\n")
    names = ("Bob Smith_107", "Ada Lo_101")
    put(tmp_path / "in", {f"{name}_assignsubmission_file/lin_grad.py": RIGHT for name in names})
    found = match_roster(
        find_submissions(course, tmp_path / "in", tmp_path / "out", "moodle"), read_roster(tmp_path / "sheet.csv")
    )
    assert "Bob Smith_107" in by_conflict(found)
    assert len(found.absent) == 1


@pytest.mark.parametrize(("name", "other"), [("करण", "किरण"), ("กา", "กี")])
def test_vowel_signs_tell_names_apart(name: str, other: str) -> None:
    assert folded_name(name) != folded_name(other)
    assert folded_name("Jürgen") == folded_name("jurgen")
    assert folded_name("محمّد") == folded_name("محمد")


def test_a_record_from_canvas_is_not_moved_to_a_login_that_is_its_number(course, tmp_path) -> None:
    lines = '"Smith, Bob",203,bs2,\n"Roe, Cyd",206,203,\n'
    found = from_canvas(course, tmp_path, ["roecyd_206"], lines)
    assert keys_of_records(found, {"smithbob_203": ["smithbob", "203"]}) == {"smithbob_203": "bs2"}


def test_canvas_numbers_of_another_kind_give_nobody_the_work_of_another(course, tmp_path) -> None:
    """The work of lovelaceada_201 went to Cyd, whose ID was 201, and Ada had handed in nothing."""
    put(
        tmp_path / "in",
        {f"lovelaceada_201_{upload}_lin_grad.py": RIGHT for upload in (7701,)} | {"smithben_2_7702_lin_grad.py": RIGHT},
    )
    for text, conflicts in (
        (
            "ID,Name\n1,Ben Smith\n201,Cyd Roe\n3,Ada Lovelace\n",
            {"1": False, "201": True, "3": True, "lovelaceada_201": True},
        ),
        ("ID,Name\n2,Ben Smith\n9,Cyd Roe\n201,Ada Lovelace\n", {"2": False, "201": False}),
    ):
        (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
        submissions = find_submissions(course, tmp_path / "in", tmp_path / "out", "canvas")
        assert by_conflict(match_roster(submissions, read_roster(tmp_path / "roster.csv"))) == conflicts


@pytest.mark.parametrize(
    ("text", "is_sure"),
    [
        ('username,name\nkim,"Lee, Kim"\nlee,"Kim, Lee"\n', False),
        ("username,name\nkim,Kim Lee\nlee,Lee Kim\n", True),
        ('username,name\nkim,"Lee, Kim"\nbob,Bob\n', True),
    ],
)
def test_names_in_the_other_order_of_one_another_are_not_guessed(course, tmp_path, text: str, is_sure: bool) -> None:
    """The work of Kim Lee was that of `Kim, Lee`, whose first name is Lee."""
    found = matched(course, tmp_path, ["Kim Lee"], text)
    assert (owners(found).get("Kim Lee") == "kim") == is_sure
    assert by_conflict(found).get("kim", False) == (not is_sure)


@pytest.mark.parametrize("layout", ["github", "plain"])
def test_a_repository_is_of_the_student_with_the_login_and_not_with_the_key(course, tmp_path, layout) -> None:
    names = {"hw-lee": ".git/HEAD", "hw-kim-l": ".git/HEAD"}
    put(tmp_path / "in", {f"{name}/{file}": RIGHT for name, git in names.items() for file in (git, "lin_grad.py")})
    text = "username,name,GitHub username\nlee,Ann Lee,Kim-L\nzoe,Zoe Roe,lee\n"
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    submissions = find_submissions(course, tmp_path / "in", tmp_path / "out", layout)
    found = match_roster(submissions, read_roster(tmp_path / "roster.csv"))
    assert owners(found) == {"hw-lee": "zoe", "hw-kim-l": "lee"}
    assert not any(by_conflict(found).values())


def test_an_alias_decides_between_two_students_of_one_name(course, tmp_path) -> None:
    text = "id,name\n1,Wei\n2,Wei\n3,Ada\n"
    found = matched(course, tmp_path, ["Wei", "Ada"], text)
    why = "Wei may be of 1 or 2: rename it, or name its student under aliases in class.yaml"
    assert {submission.key: submission.conflict for submission in found.submissions} == {
        "1": why, "2": why, "3": "", "Wei": why,
    }  # fmt: skip
    assert found.absent == (), "neither handed in nothing"
    assert owners(matched(course, tmp_path, ["Wei", "Ada"], text, Wei="2")) == {"Wei": "2", "Ada": "3"}
    with pytest.raises(UsageError, match="The alias 'Wei' is of '9', who is not on the roster"):
        matched(course, tmp_path, ["Wei"], text, Wei="9")


def test_a_login_before_the_at_sign_of_a_submission_is_its_student(course, tmp_path) -> None:
    """Gradescope names students by addresses, which a roster of logins need not have."""
    found = matched(course, tmp_path, ["cy@x.edu", "bo@x.edu", "bo"], "SID,login\n14,cy\n15,bo\n")
    assert owners(found) == {"cy@x.edu": "14", "bo": "15", "bo@x.edu": "bo@x.edu"}
    notes = {submission.key: submission.notes for submission in found.submissions}
    assert notes["14"] == ("cy@x.edu was taken for 14, by a part of a name",)


def test_an_error_keeps_the_time_of_its_student(course, tmp_path) -> None:
    """Points that a person gave for such an error lost nothing for lateness, and no word said so."""
    day = "2026-11-20T10:00Z"
    text = f"login,name,handed_in\na,Ada L,{day}\nb,Wei,{day}\nc,Wei,{day}\n"
    found = matched(course, tmp_path, ["a", "Ada L", "Wei"], text)
    times = {submission.key: submission.handed_in for submission in found.submissions if submission.conflict}
    moment = datetime(2026, 11, 20, 10, tzinfo=UTC)
    assert times == {"a": moment, "b": moment, "c": moment, "Wei": None}


def test_two_students_of_one_name_are_told_every_submission_that_may_be_theirs(course, tmp_path) -> None:
    names = [f"{section}/john smith" for section in "ABC"]
    found = matched(course, tmp_path, names, "id,name\njs1,john smith\njs2,john smith\n", "sections")
    conflicts = {submission.key: submission.conflict for submission in found.submissions}
    assert (
        conflicts["js1"]
        == conflicts["js2"]
        == (
            "A/john smith, B/john smith and C/john smith may be of js1 or js2: "
            "rename them, or name their students under aliases in class.yaml"
        )
    )
    assert len(conflicts) == 5


@pytest.mark.parametrize(
    "text",
    [
        "Email,Name\nbob1@x,Bob Smith\nbob2@x,Bob Smith\nzed@x,Zed\n",
        'Email,Name\nbob1@x,"Smith, Bob"\nbob2@x,"Smith, Bob"\nzed@x,Zed\n',
        "Email,First name,Last name\nbob1@x,Bob,Smith\nbob2@x,Bob,Smith\nzed@x,Zed,Zee\n",
    ],
)
@pytest.mark.parametrize("name", ["Bob Smith", "Smith, Bob"])
def test_a_name_that_two_students_share_is_an_error_in_either_order(course, tmp_path, text, name) -> None:
    found = matched(course, tmp_path, [name, "zed@x"], text)
    why = f"{name} may be of bob1@x or bob2@x: rename it, or name its student under aliases in class.yaml"
    assert {submission.key: submission.conflict for submission in found.submissions} == {
        "bob1@x": why, "bob2@x": why, "zed@x": "", name: why,
    }  # fmt: skip
    assert found.absent == (), "who may have handed in is not given 0 points"


@pytest.mark.parametrize("aliases", [("A/bob", "B/bob"), ("B/bob",)])
def test_an_alias_goes_before_the_section_on_the_roster(course, tmp_path, aliases) -> None:
    """The submission in the other section was graded as a stranger's, and no word said that the alias was not used."""
    text = "login,name,section\nk1,Bob,A\neve,E,A\neva,F,B\n"
    names = ["A/bob", "A/eve", "B/bob", "B/eva"]
    found = matched(course, tmp_path, names, text, "sections", **dict.fromkeys(aliases, "k1"))
    assert {each.key: each.conflict for each in found.submissions} == {
        "eva": "", "eve": "", "k1": "2 submissions of one student: A/bob and B/bob; keep the one that counts",
    }  # fmt: skip
    assert found.unlisted == ()


def test_a_section_tells_apart_who_shares_a_name_in_the_other_order(course, tmp_path) -> None:
    text = "Email,Name,Section\nbob1@x,Bob Smith,A\nbob2@x,Bob Smith,B\n"
    found = matched(course, tmp_path, ["A/Smith, Bob", "B/Smith, Bob"], text, "sections")
    assert {submission.key: submission.conflict for submission in found.submissions} == {"bob1@x": "", "bob2@x": ""}


def test_the_alias_that_the_message_advises_works(course, tmp_path) -> None:
    names, text = ["A/Bob Smith", "B/Bob Smith"], "id,name\n1,Bob Smith\n2,Bob Smith\n3,Cem\n"
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    found = find_submissions(
        course, put(tmp_path / "in", {f"{n}/lin_grad.py": RIGHT for n in names}), tmp_path / "out", "sections"
    )
    unclear = match_roster(found, read_roster(tmp_path / "roster.csv")).submissions
    assert unclear[0].conflict.startswith("A/Bob Smith and B/Bob Smith may be of 1 or 2: ")
    aliases = {"A/Bob Smith": "1", "B/Bob Smith": "2", "Week 2/Bob Smith": "2", "Cemm": "3"}
    found = match_roster(found, read_roster(tmp_path / "roster.csv", aliases))
    assert owners(found) == {"A/Bob Smith": "1", "B/Bob Smith": "2"}
    assert found.remarks == (), "an alias may be the name of a submission in another assignment"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["Cem Kaya"], False),  # he is matched under his alias
        (["ada"], False),  # he may use the alias in another assignment
        (["ada", "eve@u.edu"], False),
        (["ada", "cem", "Cem Kaia"], False),  # he is accounted for
        (["ada", "Cem Kaia"], True),
        (["ada", "cem kaya"], True),
    ],
)
def test_an_alias_is_named_where_it_may_be_misspelt(course, tmp_path, names: list[str], told: bool) -> None:
    found = matched(course, tmp_path, names, "id,name\nada,Ada\ncem,Cem\n", **{"Cem Kaya": "cem"})
    says = f"Cem Kaya under aliases in class.yaml is the name of no submission: correct it to {names[-1]} if that is"
    assert [remark for remark in found.remarks if "alias" in remark] == [f"{says} meant."] * told


def test_numbers_that_lost_their_zeros_are_of_their_students(course, tmp_path) -> None:
    found = matched(course, tmp_path, ["001", "002", "7"], "id,name\n1,Ada\n2,Bob\n7,Cem\n8,Dan\n")
    assert (found.unlisted, found.absent) == ((), ("8",)), "nobody who handed in may get 0 points"
    assert owners(found) == {"001": "1", "002": "2", "7": "7"}
    assert found.remarks == (
        "001 (submitted) and 1 (on the roster), one of 2 such pairs, differ in zeros at the beginning only, and are "
        "taken for one student: if a spreadsheet removed them, write them into the roster again, with the column as "
        "text.",
    )
    notes = {submission.key: submission.notes for submission in found.submissions}
    assert notes == {
        "1": ("001 was taken for 1, by a number with other zeros at the beginning",),
        "2": ("002 was taken for 2, by a number with other zeros at the beginning",),
        "7": (),
    }


def test_the_number_is_named_that_differs_in_zeros_and_where_it_was_handed_in(course, tmp_path) -> None:
    """The remark said of submission_1 that it differs from 7 in zeros only."""
    metadata = "submission_1:\n  :submitters:\n  - :name: James Bond\n    :sid: '007'\n"
    put(tmp_path / "in", {"submission_metadata.yml": metadata, "submission_1/lin_grad.py": RIGHT})
    for text, listed, advice in (
        ("SID,Name\n7,Bond J\n", "7", "if a spreadsheet removed them, write them into the roster again, with the"),
        ("SID,Name\n00000000000007,Bond J\n", "00000000000007", "the roster has them, so nothing need be done."),
    ):
        (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
        found = find_submissions(course, tmp_path / "in", tmp_path / "out")
        (remark,) = match_roster(found, read_roster(tmp_path / "roster.csv")).remarks
        assert remark.startswith(f"007 (submitted, as submission_1) and {listed} (on the roster) differ in zeros at ")
        assert f"are taken for one student: {advice}" in remark


def test_zeros_that_the_roster_has_need_not_be_written_into_it(course, tmp_path) -> None:
    (remark,) = matched(course, tmp_path, ["106"], "id,name\n000106,Ada\n").remarks
    assert remark.endswith("are taken for one student: the roster has them, so nothing need be done.")


def test_only_numbers_that_count_as_one_student_are_said_to(course, tmp_path) -> None:
    found = matched(course, tmp_path, ["0045", "45", "00123", "007", "7"], "Student ID,Name\n123,A\n45,B\n7,C\n")
    assert found.unlisted == ("0045", "007")
    (remark,) = found.remarks
    assert remark.startswith("00123 (submitted) and 123 (on the roster) differ in zeros at the beginning only")


def test_numbers_lose_their_zeros_in_a_column_with_any_heading(course, tmp_path) -> None:
    text = "Matrikelnummer,Semester,Email\n1,3,zed@x\n2,3,ada@x\n"
    found = matched(course, tmp_path, ["001", "003", "ada@x"], text)
    assert owners(found) == {"001": "zed@x", "003": "003", "ada@x": "ada@x"}, "many have the 3 of a semester"
    assert (found.absent, found.unlisted) == ((), ("003",))
    (remark,) = found.remarks
    assert remark.startswith("001 (submitted) and 1 (on the roster) differ in zeros at the beginning only")


def test_numbers_that_may_be_of_two_students_without_their_zeros_are_errors(course, tmp_path) -> None:
    found = matched(course, tmp_path / "a", ["001", "cem"], "id,name\n1,Ada\n01,Bob\n7,cem\n")
    assert {s.key: s.conflict[:24] for s in found.submissions} == {
        "001": "001 may be of 1 or 01: r", "01": "001 may be of 1 or 01: r", "1": "001 may be of 1 or 01: r", "7": "",
    }  # fmt: skip
    found = matched(course, tmp_path / "b", ["001", "01", "7"], "id,name\n1,Ada\n7,Cem\n")
    assert [submission.conflict for submission in found.submissions] == [
        "2 submissions of one student: 001 and 01; keep the one that counts", "",
    ]  # fmt: skip


def test_a_submission_that_is_graded_for_nobody_is_not_said_to_be_graded(course, tmp_path) -> None:
    found = matched(course, tmp_path, ["Max", "Zoe"], "id,name\n1,Max\n2,Max\n")
    assert by_conflict(found) == {"1": True, "2": True, "Max": True, "Zoe": False}
    assert found.unlisted == ("Zoe",)


@pytest.mark.parametrize("other", ["José García", "jose garcia", "g@u.edu", "4711"])
def test_a_second_submission_under_another_name_is_the_same_error(course, tmp_path, other) -> None:
    """It was graded apart, and called not on the roster."""
    text = "id,name,email,Matrikelnummer\n001,José García,g@u.edu,4711\n002,Bob,b@u.edu,4712\n"
    found = matched(course, tmp_path, ["001", other, "002"], text.replace("id,", "student,"))
    conflicts = {submission.key: submission.conflict for submission in found.submissions}
    assert conflicts == {
        "001": f"2 submissions of one student: 001 and {other}; keep the one that counts", "002": "",
    }  # fmt: skip
    assert found.unlisted == ()


def test_names_with_commas_are_told_apart_in_a_list(course, tmp_path) -> None:
    found = matched(course, tmp_path, ["1", "Smith, Bob", "smith bob"], 'id,name\n1,"Smith, Bob"\n')
    (bob,) = found.submissions
    assert bob.conflict == "3 submissions of one student: 1; Smith, Bob and smith bob; keep the one that counts"


@pytest.mark.parametrize(
    ("heading", "cells"), [("Punkte", "9 12"), ("relu_grad", "9 12"), ("Blatt", "9 12 9"), ("Blatt", "8,5 12")]
)
def test_a_column_of_points_identifies_nobody(course, tmp_path, heading, cells) -> None:
    """The folder 12 was that of the student with 12 points."""
    lines = [f"s{at};Name {at};{cell}" for at, cell in enumerate(cells.split())]
    (tmp_path / "roster.csv").write_text("\n".join([f"Username;Name;{heading}", *lines]), encoding="utf-8")
    path = put(tmp_path / "in", {"12/lin_grad.py": RIGHT, "s0/lin_grad.py": RIGHT})
    roster = read_roster(tmp_path / "roster.csv", exercises=["relu_grad"])
    found = match_roster(find_submissions(course, path, tmp_path / "out", "plain"), roster)
    assert (owners(found)["12"], found.unlisted) == ("12", ("12",))


@pytest.mark.parametrize("heading", ["Student number", "Matrikelnummer", "Exam number"])
def test_a_name_in_any_column_is_of_its_student(course, tmp_path, heading) -> None:
    """They were not on the roster, and --yes gave them 0 points."""
    text = f"{heading},Name,Email,Team,Score\n001,Ada,a@u,A,10\n002,Bob,b@u,A,11\n003,Cem,c@u,B,12\n"
    found = matched(course, tmp_path / "a", ["001", "002", "B", "11"], text)
    assert owners(found) == {"001": "a@u", "002": "b@u", "B": "c@u", "11": "11"}
    assert (found.absent, found.unlisted) == ((), ("11",)), "points name nobody"
    assert found.remarks == (
        f"2 submissions are named as in the column {heading} of the roster: 001 (of a@u), 002 (of b@u).",
        "1 submission is named as in the column Team of the roster: B (of c@u).",
    )
    found = matched(course, tmp_path / "b", ["A", "Ada"], text)
    assert {submission.key: submission.conflict[:21] for submission in found.submissions} == {
        "A": "A may be of a@u or b@", "a@u": "", "b@u": "A may be of a@u or b@",
    }  # fmt: skip


def test_results_keep_the_column_that_they_are_named_by(tmp_path) -> None:
    path, naming = tmp_path / "roster.csv", Naming("id", Path("grades"))
    path.write_text("id,name,email\n1,Ada,a@u\n2,Bob,b@u\n", encoding="utf-8")
    assert [student.key for student in read_roster(path).students] == ["a@u", "b@u"]
    roster = read_roster(path, naming=naming)
    assert ([student.key for student in roster.students], roster.remarks, roster.named_by) == (["1", "2"], (), "id")
    path.write_text("id,name,email\n1,Ada,a@u\n1,Bob,b@u\n", encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        read_roster(path, naming=naming)
    assert str(refused.value) == (
        f"{path}: the results in grades are named by the column id, which is '1' in lines 2, 3: put that right, or "
        "move grades away to name everybody by email."
    )
    path.write_text("name,email\nAda,a@u\nBob,b@u\n", encoding="utf-8")
    with pytest.raises(UsageError, match="named by the column id, which is gone: put that right"):
        read_roster(path, naming=naming)


def test_a_line_that_is_twice_in_a_roster_is_one_student(tmp_path) -> None:
    """The roster was refused, for want of a column that tells students apart."""
    path = tmp_path / "roster.csv"
    path.write_text("id,name,handed_in\n1,Max,\n2,Eve,\n 1 ,Max,\n2,Eve,\n", encoding="utf-8")
    roster = read_roster(path)
    assert [student.key for student in roster.students] == ["1", "2"]
    assert roster.remarks == (f"{path}, lines 4, 5: the same student as in an earlier line, read once.",)
    for text in ("name\nMax\nEve\nMax\n", "id,name,handed_in\n1,Max,\n1,Max,2026-11-20\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match=r"no column that tells students apart \(.*in lines 2, [34]"):
            read_roster(path)


def test_what_cannot_be_graded_is_not_said_to_be_graded_under_its_own_name(course, tmp_path) -> None:
    put(tmp_path / "in", {"cem.ipynb": "", "dee.rar": ""})
    found = matched(course, tmp_path, ["ada", "bob"], "id\nada\n")
    assert {each.key for each in found.submissions if each.nothing} == {"cem", "dee"}
    assert found.unlisted == ("bob",)


@pytest.mark.parametrize(
    ("names", "layout", "sections"),
    [
        (["A/x", "A/y", "B/z", "loose"], "plain", ", or add --layout sections if these are sections"),
        ([f"{name}_10{place}_assignsubmission_file" for place, name in enumerate("xyz")], "moodle", ""),
    ],
)
def test_a_roster_on_which_nobody_is_who_handed_in_is_named(course, tmp_path, names, layout, sections) -> None:
    """Each student of a section that was taken for one student was only said to have handed in nothing."""
    says = f"No submission is of a student on the roster: name the roster of this class{sections}."
    assert matched(course, tmp_path, names, "id,name\n1,ada\n2,bob\n", layout).remarks == (says,)
    assert (
        says
        not in matched(
            course, tmp_path, ["bob", "bob_107_assignsubmission_file"], "id,name\n1,ada\n2,bob\n", layout
        ).remarks
    )


def test_a_part_of_a_name_names_those_who_have_it(course, tmp_path) -> None:
    text = "id,name\n001,Ada García\n002,Bob Smith\n003,Bob Jones\n"
    found = matched(course, tmp_path, ["001", "002", "003"], text)
    for part, who in (("García", "'001'"), ("garcia", "'001'"), ("Bob", "'002' or '003'"), ("smith", "'002'")):
        with pytest.raises(UsageError, match=f"Nobody is called '{part}'. Did you mean {who}[?]"):
            find_student(found.submissions, part)
    with pytest.raises(UsageError, match="Nobody who handed in is called 'Bo': known are 001, 002, 003"):
        find_student(found.submissions, "Bo")
    with pytest.raises(UsageError, match=r"Nobody is called '0011'\. Did you mean '001'"):
        find_student(found.submissions, "0011")


def test_a_section_tells_two_people_of_one_name_apart(course, tmp_path) -> None:
    names = ["A/ada", "A/bob", "B/ada", "B/cem"]
    text = "id,name,section\n1,ada,A\n3,ada,B\n4,bob,A\n5,cem,B\n"
    found = matched(course, tmp_path, names, text, "sections")
    assert owners(found) == {"A/ada": "1", "B/ada": "3", "A/bob": "4", "B/cem": "5"}
    assert (found.absent, found.unlisted) == ((), ())


def test_two_submissions_of_one_student_are_never_mixed(course, tmp_path) -> None:
    names = ["A/ada", "A/bob", "B/ada", "B/cem"]
    found = matched(course, tmp_path, names, "username,name\nada,A\nbob,B\ncem,C\n", "sections")
    (ada,) = (submission for submission in found.submissions if submission.key == "ada")
    assert ada.conflict == "2 submissions of one student: A/ada and B/ada; keep the one that counts"
    assert {file.status for file in read_submission(names_of(course), ada).files.values()} == {"error"}


def test_the_newest_of_two_uploads_counts(course, tmp_path) -> None:
    path = put(tmp_path / "in", {"A/adaL_1_11_lin_grad.py": RIGHT, "A/adaX_2_21_lin_grad.py": MEAN,
                                 "B/bob_3_12_lin_grad.py": RIGHT, "B/cem_4_12_lin_grad.py": RIGHT})  # fmt: skip
    (tmp_path / "roster.csv").write_text("login,name,id\nada,adaL,2\nbob,bob,3\ncem,cem,4\n")
    found = match_roster(
        find_submissions(course, path, tmp_path / "out", "sections"), read_roster(tmp_path / "roster.csv")
    )
    assert [submission.title for submission in found.submissions] == ["A/adaX_2", "B/bob_3", "B/cem_4"]
    assert found.submissions[0].earlier == ("A/adaL_1",)


def test_who_is_not_on_the_roster_never_has_the_name_of_somebody_who_is(course, tmp_path) -> None:
    found = matched(course, tmp_path, ["bob", "ann"], "id,name\nbob,ann\nann,ann\n", ann="bob")
    assert sorted(owners(found).values()) == ["ann", "bob"]
    roster = Roster([RosterStudent("ann"), RosterStudent("cem")])
    found = match_roster(
        ClassFolder((Submission("x-ann", (), guesses=frozenset({"ann"})), Submission("ann", ())), "plain"), roster
    )
    assert [(submission.key, submission.notes) for submission in found.submissions] == [("ann", ()), ("x-ann", ())]
    assert (found.absent, found.unlisted) == (("cem",), ("x-ann",))


def test_a_repository_of_another_login_with_the_same_end_is_named_and_nobodys(course, tmp_path) -> None:
    """A login may have hyphens, so `x-finn` need not be `finn`, to whom --yes would give 0 points."""
    text = "identifier,github_username\nAda A,ada\nFinn G,finn\n"
    for folder in ("hw", "hw-submissions"):
        path = put(
            tmp_path / folder,
            {f"hw-{who}/{file}": RIGHT for who in ("ada", "x-finn") for file in ("lin_grad.py", ".git/HEAD")},
        )
        (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
        found = match_roster(
            find_submissions(course, path, tmp_path / "out", "github"), read_roster(tmp_path / "roster.csv")
        )
        assert (owners(found), found.absent) == ({"hw-ada": "Ada A", "hw-x-finn": "x-finn"}, ("Finn G",))
        assert found.remarks == (
            "Names that end like names on the roster: hw-x-finn. If these are theirs, name these students under "
            "aliases in class.yaml.",
        )


@pytest.mark.parametrize("name", ["hw-7", "Yan Yo - 7", "2026-11-7", "hw-ada"])
def test_the_end_of_a_folders_name_is_no_students_unless_it_is_a_repositorys(course, tmp_path, name) -> None:
    """The points of a folder hw-1 were those of the student with the key 1."""
    text = "ID,Name\n7,ada\n8,bob\n"
    found = matched(course, tmp_path, [name], text)
    assert (owners(found), found.absent, found.unlisted) == ({name: name}, ("7", "8"), (name,))
    assert found.remarks == (
        f"Names that end like names on the roster: {name}. If these are repositories, add --layout github.",
    )
    assert matched(course, tmp_path / "other", [name, "7"], text).remarks == ()
    put(tmp_path / "in" / name, {".git/HEAD": "ref: refs/heads/main"})
    assert owners(matched(course, tmp_path, [], text)) == {name: "7"}


def test_archives_of_repositories_are_students_where_the_layout_is_named(course, tmp_path) -> None:
    """They hold no `.git`, and GitHub ends their names with the branch."""
    names, text = ["hw1-ada-main.zip", "hw1-bo-main", "hw1-eve.zip"], "Login\nada\nbo\neve\n"
    archive = zipped({"lin_grad.py": RIGHT})
    put(tmp_path / "in", {names[0]: archive, f"{names[1]}/lin_grad.py": RIGHT, names[2]: archive})
    found = matched(course, tmp_path, [], text)
    assert found.remarks == (
        f"Names that end like names on the roster: {', '.join(names)}. If these are repositories, add --layout github.",
    )
    named = matched(course, tmp_path, [], text, "github")
    assert (owners(named), named.remarks) == (dict(zip(names, ["ada", "bo", "eve"], strict=True)), ())


def test_a_part_of_a_name_counts_last_and_is_noted(course, tmp_path) -> None:
    found = matched(course, tmp_path, ["hw1-bob"], "username\nbob\n", "github")
    assert found.submissions[0].notes == ("hw1-bob was taken for bob, by a part of a name",)
    found = matched(course, tmp_path / "two", ["hw1-bob", "hw2-bob"], "username\nbob\n", "github")
    assert [submission.conflict for submission in found.submissions] == [
        "2 submissions of one student: hw1-bob and hw2-bob; keep the one that counts"
    ]


def test_a_student_on_the_roster_is_found_by_every_name_there(course, tmp_path) -> None:
    found = matched(course, tmp_path, ["ada"], "sid,login,name\n7,ada,Ada L\n8,bob,Bob\n")
    for name in ("7", "ada", "Ada L"):
        assert find_student(found.submissions, name).key == "7"


def read(tmp_path: Path, data: str | bytes) -> Roster:
    (tmp_path / "roster.csv").write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_roster(tmp_path / "roster.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_roster_as_excel_saves_it_is_read(tmp_path, encoding) -> None:
    roster = read(tmp_path, "name;id\r\nMüller;1\r\nÖz;2\r\n".encode(encoding))
    assert [student.names for student in roster.students] == [{"Müller"}, {"Öz"}]
    assert list(roster.remarks) == (
        [f"{tmp_path / 'roster.csv'} is not UTF-8: read as Excel's Windows-1252; look at the names with accents."]
        if encoding == "cp1252"
        else []
    )


@pytest.mark.parametrize("data", [b"name\n\xff\0\0", b"name\n\x81\x8d\n"])
def test_a_file_that_is_no_text_is_refused(tmp_path, data) -> None:
    with pytest.raises(UsageError, match="line 2 is not text"):
        read(tmp_path, data)


def test_a_roster_that_is_too_large_is_refused_and_not_cut(tmp_path) -> None:
    path = tmp_path / "roster.csv"
    path.write_bytes(b"username\n" + b"ann\n" * (1 << 22))
    with pytest.raises(UsageError, match=r"roster\.csv is larger than 16 MiB"):
        read_roster(path)


def test_a_blank_cell_is_named_with_its_line(tmp_path) -> None:
    roster = read(tmp_path, "username,email\nada,a@x\n\n,b@x\ncem,c@x\n")
    assert [student.key for student in roster.students] == ["a@x", "b@x", "c@x"]
    (remark,) = roster.remarks
    assert remark.endswith("username is blank in line 4, so the results are named by email.")
    with pytest.raises(UsageError, match=r"\(username is blank in line 3; email is 'x' in lines 2, 3\)"):
        read(tmp_path, "username,email\nada,x\n,x\n")
    assert read(tmp_path, "sid,email\n,a@x\n,b@x\n").remarks == (), "a column that nobody uses"


def test_a_column_of_names_alone_is_a_roster_if_no_name_is_there_twice(tmp_path) -> None:
    assert [student.key for student in read(tmp_path, "name\nAda\nBob\n").students] == ["Ada", "Bob"]
    with pytest.raises(UsageError, match=r"\(name is 'Ada' in lines 2, 4\)"):
        read(tmp_path, "name\nAda\nBob\nAda\n")


def test_the_roster_may_say_when_somebody_handed_in(course, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TZ", "Etc/GMT-3")  # three hours east
    import time

    time.tzset()
    try:
        text = "id,handed_in\na,2026-04-26T17:34\nb,2026-04-26 17:34:10+00:00\nc,\nd,2026-04-26T17:34Z\n"
        found = matched(course, tmp_path, list("abcd"), text)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [submission.handed_in for submission in found.submissions] == [
        datetime(2026, 4, 26, 14, 34, tzinfo=UTC),
        datetime(2026, 4, 26, 17, 34, 10, tzinfo=UTC),
        None,
        datetime(2026, 4, 26, 17, 34, tzinfo=UTC),
    ]
    with pytest.raises(UsageError, match="line 3: 'noon' in handed_in is no time: write it like 2026-04-26T17:34"):
        read(tmp_path, "id,handed_in\na,2026-04-26\nb,noon\n")


@pytest.mark.parametrize(
    "time", ["2026-11-01 18.45", "2026-11-01T18,45", "2026-11-01 18", "20261101T1845", "2026-11-01T18:45.5", "2026-W44"]
)
def test_a_time_that_people_read_in_another_way_than_python_is_refused(tmp_path: Path, time: str) -> None:
    with pytest.raises(UsageError, match=r"line 2: .* in handed_in is no time: write it like 2026-04-26T17:34"):
        read(tmp_path, f"id;handed_in\na;{time}\n")


@pytest.mark.parametrize(
    ("head", "columns"),
    [
        ("login,name,Name,x", "2 (name) and 3 (Name)"),
        ("name,x,y,NAME", "1 (name) and 4 (NAME)"),
        ("login,email,x,E-Mail", "2 (email) and 4 (E-Mail)"),
        ("login,handed_in,handed_in,x", "2 (handed_in) and 3 (handed_in)"),
        ("login,handed_in w1,x,Handed in w1", "2 (handed_in w1) and 4 (Handed in w1)"),
        ("login,x,section,section", "3 (section) and 4 (section)"),
        ("login,x,first name,first name", "3 (first name) and 4 (first name)"),
    ],
)
def test_a_column_that_is_there_twice_is_refused(tmp_path: Path, head: str, columns: str) -> None:
    (tmp_path / "roster.csv").write_text(f"{head}\na,,,\nb,,,\n")
    with pytest.raises(UsageError) as raised:
        read_roster(tmp_path / "roster.csv", assignment="w1")
    sentence = f"roster.csv, line 1: columns {columns} mean the same: remove one, or rename it."
    assert str(raised.value) == f"{tmp_path}/{sentence}"


@pytest.mark.parametrize(
    "heading", ["Total", "Mid-term", "Bonus", "Quiz 1", "HW1 (10 pts)", "Final Exam", "Marks", "Lab 3", "Semester", "%"]
)
def test_a_number_in_a_column_of_points_names_nobody(course, tmp_path, heading: str) -> None:
    """71 was the submission of whoever had 71 points, and not of 0071."""
    found = matched(course, tmp_path, ["71"], f"Student ID,Name,{heading}\n0071,Ada Ox,50\n0072,Bo Po,71\n")
    assert owners(found) == {"71": "0071"}


def test_two_columns_of_one_unknown_heading_both_name_a_student(course, tmp_path) -> None:
    found = matched(course, tmp_path, ["1815", "x7"], "login,Matrikel,Matrikel\nada,1815,y1\nben,1816,x7\n")
    assert owners(found) == {"1815": "ada", "x7": "ben"}
    assert found.remarks[-2:] == (
        "1 submission is named as in the column Matrikel (column 2) of the roster: 1815 (of ada).",
        "1 submission is named as in the column Matrikel (column 3) of the roster: x7 (of ben).",
    )


@pytest.mark.parametrize(
    ("rest", "line"),
    [
        ('001,Ada\n002,"Bob\n003,Cy\n099,Dee\n', 3),
        ('001,Ada\n002,"Bob\n003,"Cy"\n099,Dee\n', 3),
        ('001,Ada\n002,"Bob\n003,Cy"\n099,Dee\n', 3),
        ('001,Ada\n\n002,Bob\n003,"Cy" Lee\n', 5),
    ],
)
def test_a_quotation_mark_that_is_not_closed_swallows_nobody(tmp_path, rest, line) -> None:
    path = tmp_path / "roster.csv"
    path.write_text(f"id,name\n{rest}", encoding="utf-8")
    with pytest.raises(UsageError, match=rf"roster\.csv, line {line}: a cell that begins with a quotation mark"):
        read_roster(path)


def test_the_student_for_tests_of_canvas_is_nobody(tmp_path) -> None:
    head, rest = (
        "Student,ID,SIS Login ID,Section",
        'Points Possible,,,\n"Lovelace, Ada",11,ada,A\n"Student, Test",99,x,\n',
    )
    assert [student.key for student in read(tmp_path, f"{head}\n{rest}").students] == ["ada"]


def test_feedback_in_a_worksheet_may_have_lines(tmp_path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text('id,name,Feedback comments\n001,"Lee, Ada","two\nlines"\n002,Bob,\n', encoding="utf-8")
    assert [student.key for student in read_roster(path).students] == ["001", "002"]


def test_a_section_of_the_roster_tells_two_folders_of_one_name_apart(course, tmp_path) -> None:
    """Both were taken for submissions of the one student."""
    found = matched(course, tmp_path / "a", ["A/Cy", "B/Cy"], "name,section\nCy,B\nDan,A\n", "sections")
    assert (owners(found), found.unlisted) == ({"A/Cy": "A Cy", "B/Cy": "Cy"}, ("A Cy",))
    assert not any(submission.conflict for submission in found.submissions)


def test_a_section_tells_apart_who_shares_a_name_and_has_nothing_else(course, tmp_path) -> None:
    """The roster was refused."""
    text = "name,section\nBob Smith,A\nAda,A\nBob Smith,B\n"
    found = matched(course, tmp_path / "a", ["A/Bob Smith", "A/Ada", "B/Bob Smith", "B/Cem"], text, "sections")
    assert owners(found) == {
        "A/Bob Smith": "A Bob Smith", "A/Ada": "Ada", "B/Bob Smith": "B Bob Smith", "B/Cem": "Cem",
    }  # fmt: skip
    assert (found.absent, found.unlisted, found.named_by) == ((), ("Cem",), "name")
    assert found.remarks[0].endswith("name is 'Bob Smith' in lines 2, 4, so the results are named by name and section.")
    found = matched(course, tmp_path / "b", ["A/Ada", "A/Dan", "B/Bob Smith", "B/Cem"], text, "sections")
    assert (owners(found)["B/Bob Smith"], found.absent) == ("B Bob Smith", ("A Bob Smith",))
    plain = matched(course, tmp_path / "c", ["Bob Smith", "Ada"], text)
    assert {s.key for s in plain.submissions if s.conflict} == {"A Bob Smith", "B Bob Smith", "Bob Smith"}
    for section in ("A", ""):
        with pytest.raises(UsageError, match=r"should have another one there; a section is no such column[.]$"):
            read(tmp_path, f"name,section\nBob,A\nBob,{section}\n")

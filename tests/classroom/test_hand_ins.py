"""Submissions as downloaded from each platform, from layout to points: nobody gets 0 for the name of a file."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import platforms
from helpers.courses import ROOT
from helpers.document_claims import Document
from helpers.platforms import MEAN, RIGHT, STUB, notebook, put, zipped
from test_class_grading import record, small_course, validator

from grader.classroom.class_folder import find_student, find_submissions
from grader.classroom.class_grading import Grading, GradingProgress, grade_class, grade_submission
from grader.classroom.exercise_names import ExerciseNames
from grader.classroom.grade_terminal import print_summary, score_line, showing_progress
from grader.classroom.grades_table import ClassSummary
from grader.classroom.platform_names import Submission, single_submission
from grader.classroom.roster import match_roster, read_roster
from grader.classroom.submissions import UnreadFile, read_submission
from grader.cli.main import app
from grader.course.course import PACKAGE, Course, load_course
from grader.errors import UsageError
from grader.export.feedback import feedback
from grader.export.graded_work import NOT_GRADED, ExportOptions, answers, no_score, why_not_graded
from grader.results.records import exit_code

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_pool")]
Points = dict[str, float | None]


@pytest.fixture(scope="module")
def course() -> Course:
    return small_course(PACKAGE.parent)


@pytest.fixture
def grade(course: Course, tmp_path: Path) -> Callable[..., tuple[Points, ClassSummary]]:
    """Return a function that grades a class with the session's warm worker and references."""

    def graded(path: Path, roster: str = "") -> tuple[Points, ClassSummary]:
        found = find_submissions(course, path, tmp_path / "out")
        if roster:
            (tmp_path / "roster.csv").write_text(roster, encoding="utf-8")
            found = match_roster(found, read_roster(tmp_path / "roster.csv"))
        summary = grade_class(
            course, found, tmp_path / "out", Grading(1, "none", exercises=course.select(["lin_grad"]))
        )
        with open(tmp_path / "out/grades.csv", encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
        for row in rows:
            if row["score"]:
                validator().validate(record(tmp_path / "out", row["student"]))
        return {row["student"]: float(row["score"]) if row["score"] else None for row in rows}, summary

    return graded


def said(summary: ClassSummary) -> dict[str, tuple[str, ...]]:
    return dict(summary.noted)


def test_a_download_from_moodle(grade, tmp_path) -> None:
    points, summary = grade(platforms.moodle(tmp_path))
    assert points == {
        "Ada Lovelace_101": 3, "Bob Müller_102": 2, "Cem Öz_103": 3, "Dan O'Neil_104": None, "Eve X_105": 0,
    }  # fmt: skip
    assert summary.kind == "a download from Moodle"
    assert [(one.student, one.why) for one in summary.nothing] == [
        ("Dan O'Neil_104", "it holds onlinetext.html, and no file that is named after an exercise")
    ]
    assert summary.strays == ("Eve X_105_assignsubmission_file/../../../etc/lin_grad.py",)


def test_a_file_outside_of_its_archive_is_not_said_to_have_another_name(grade, tmp_path) -> None:
    platforms.put(tmp_path / "in", {"ada/p.zip": platforms.zipped({"../../x/lin_grad.py": platforms.RIGHT})})
    platforms.put(tmp_path / "in", {"ben/lin_grad.py": platforms.RIGHT})
    _, summary = grade(tmp_path / "in")
    assert summary.nothing[0].why == "p.zip/../../x/lin_grad.py: its name leads out of the archive"


def test_a_grading_worksheet_is_a_roster(grade, tmp_path) -> None:
    points, summary = grade(platforms.moodle(tmp_path), platforms.MOODLE_GRADES)
    assert points == {
        "ada@uni.edu": 3, "bob@uni.edu": 2, "cem@uni.edu": 3, "dan@uni.edu": None, "fay@uni.edu": None, "Eve X_105": 0,
    }  # fmt: skip
    assert (summary.absent, summary.unlisted) == (("fay@uni.edu",), ("Eve X_105",))


def test_a_download_from_moodle_without_folders(grade, tmp_path) -> None:
    points, summary = grade(platforms.moodle_without_folders(tmp_path))
    assert points == {"Ada_101": 3, "Bob_102": None}, "two files of one upload, and neither is known to be newer"
    assert summary.strays == ("notes.txt",)
    assert [failure.message for failure in summary.errors] == [
        "lin_grad.py and lin_grad (1).py are different answers: keep the one that counts"
    ]


def test_a_later_upload_to_canvas_counts_before_an_earlier_archive(grade, tmp_path) -> None:
    old = platforms.zipped({"04_linear/lin_grad.py": platforms.MEAN})
    for name, files in {"file": {"ada_201_9009_lin_grad.py": platforms.RIGHT},
                        "archive": {"ada_201_9009_hw.zip": platforms.zipped({"lin_grad.py": platforms.RIGHT})},
                        }.items():  # fmt: skip
        points, _ = grade(platforms.put(tmp_path / name, {"ada_201_9002_hw.zip": old, **files}))
        assert points["ada_201"] == 3, name


def test_the_note_on_an_older_upload_says_which_one_it_is(grade, tmp_path) -> None:
    old, new = platforms.MEAN, platforms.RIGHT
    files = {
        "ada_201_9001_hw.ipynb": platforms.notebook(old), "ada_201_9002_hw-1.ipynb": platforms.notebook(new),
        "ben_202_9003_lin_grad.py": old, "ben_202_9004_lin_grad.py": new,
        "cem_203_9005_lin_grad.py": new, "cem_203_9006_lin_grad.py": f"# again\n{new}",
    }  # fmt: skip
    _, summary = grade(platforms.put(tmp_path / "in", files))
    assert said(summary)["ada_201"] == ("hw.ipynb was not graded: hw-1.ipynb is newer",)
    assert said(summary)["ben_202"] == ("lin_grad.py (upload 9003) was not graded: lin_grad.py (upload 9004) is newer",)
    same = "lin_grad.py (upload 9005) was not graded: lin_grad.py (upload 9006) holds the same answer"
    assert said(summary)["cem_203"] == (same,)


def test_another_archive_of_the_same_name_is_read_anew(grade, tmp_path) -> None:
    for source, score in ((platforms.RIGHT, 3), (platforms.MEAN, 2)):
        platforms.put(tmp_path, {"class.zip": platforms.zipped({"ada/lin_grad.py": source, "bob/lin_grad.py": source})})
        assert grade(tmp_path / "class.zip")[0]["ada"] == score


def test_a_download_from_canvas(grade, tmp_path) -> None:
    points, summary = grade(platforms.canvas(tmp_path))
    assert points == {
        "lovelaceada_201": 3, "mullerbob_202": 2, "ozcem_203": 3, "oneildan_204": None, "evex_205": 0, "fayf_206": 3,
        "anon_Ab1Cd": 3,
    }  # fmt: skip
    late = [student for student, notes in said(summary).items() if any("late" in note for note in notes)]
    assert late == ["anon_Ab1Cd", "mullerbob_202"]
    assert said(summary)["ozcem_203"][1] == "lin_grad.py was not graded: lin_grad-1.py is newer"
    assert said(summary)["fayf_206"] == (r"hw.zip/../lin_grad.py was ignored: its name leads out of the archive",)


def test_an_export_from_gradescope(grade, tmp_path) -> None:
    """Each student of a group has a record; a name that a student chose leads out of no folder."""
    points, summary = grade(platforms.gradescope(tmp_path))
    assert points == {"ada@uni.edu": 3, "bob@uni.edu": 2, "103": 2, "submission_303": None}
    assert summary.kind == "an export from Gradescope"
    assert [one.student for one in summary.nothing] == ["submission_303"]


def test_clones_of_github_classroom(grade, tmp_path) -> None:
    points, summary = grade(platforms.github(tmp_path))
    assert points == {"ada-l": 3, "bob": 2, "cem": 3, "dan": None}
    at = "my-course/exercises/04_linear/lin_grad.py"
    assert said(summary) == {
        "bob": (f"old/lin_grad.py was not graded: {at} was graded in its place",),
        "cem": (f"{at} was not graded: it is a stub, and was left as it is",),
    }
    assert grade(platforms.github(tmp_path), platforms.GITHUB_ROSTER)[0] == {
        "u101": 3, "u102": 2, "u103": 3, "u104": None, "u105": None,
    }  # fmt: skip


def test_sections(grade, tmp_path) -> None:
    points, summary = grade(platforms.sections(tmp_path))
    assert points == {"Monday ada": 3, "Friday ada": 2, "bob": 2, "cem": 3, "dan": 0}
    assert summary.kind == "2 sections"


class Typed(io.StringIO):
    """Act as a terminal at which a text is typed."""

    is_terminal = True

    def isatty(self) -> bool:
        return self.is_terminal


def test_a_log_gets_a_line_every_thirty_seconds(capsys) -> None:
    times = iter((0.0, 1.0, 29.0, 31.0, 31.0, 40.0))
    with showing_progress(on_terminal=False, clock=lambda: next(times)) as report:
        for done in range(4):
            report(GradingProgress(done, 400, 2.0 if done else 0.0))
    assert capsys.readouterr().err == "graded 2 of 400, 2.0/s, 3:19 left\n"


def test_a_unit_an_exercise_or_a_student_is_graded_alone(course, grade, tmp_path) -> None:
    relu = "def relu_grad(inp, out):\n    inp.g = (inp > 0) * out.g\n"
    path = put(tmp_path / "in", {f"{who}/{name}.py": text for who in ("ada", "bob") for name, text in
                                 (("lin_grad", MEAN), ("relu_grad", relu))})  # fmt: skip
    found, out = find_submissions(course, path, tmp_path / "out"), tmp_path / "05_activations"

    def graded(*targets: str, students: str = "") -> ClassSummary:
        out = tmp_path / ("_".join(targets) or "out")
        grading = Grading(1, "none", exercises=course.select(targets), students=frozenset(students.split()))
        return grade_class(course, found, out, grading)

    assert (graded().mean_score, graded().max_score) == (3, 4)
    alone = graded("05_activations")
    assert (alone.mean_score, alone.max_score, list(alone.units)) == (1, 1, ["05_activations"])
    assert [each["id"] for each in record(out, "ada")["exercises"]] == ["relu_grad"]
    out = tmp_path / "lin_grad"
    put(path, {"ada/lin_grad.py": RIGHT, "bob/lin_grad.py": RIGHT})
    graded("lin_grad")
    before = record(out, "bob")
    put(path, {"ada/lin_grad.py": MEAN, "bob/lin_grad.py": MEAN})
    only = graded("lin_grad", students="ada")
    assert (only.students, only.graded, only.mean_score) == (2, 1, 2.5)
    assert record(out, "bob") == before
    with pytest.raises(UsageError, match="Nobody who handed in is called 'cem': known are ada"):
        graded(students="cem")


def test_one_submission_alone(course, grade, tmp_path, capsys) -> None:
    out = tmp_path / "record.json"
    path = put(tmp_path / "in", {"a.zip": zipped({"x/lin_grad (2).py": RIGHT}), "lin_grad.py": MEAN, "b.pdf": ""})
    grading = Grading(1, "none", 7, course.select(["lin_grad"]))

    def graded(name: str, *, yes: bool = False) -> tuple[int, float | None]:
        results = grade_submission(course, path / name, out, grading, yes=yes)
        print(score_line(results))
        return exit_code(results.exercises), json.loads(out.read_text())["score"]

    assert graded("a.zip") == (0, 3)
    validator().validate(json.loads(out.read_text()))
    assert graded("lin_grad.py") == (1, 2)
    assert graded("b.pdf") == (1, None)
    assert capsys.readouterr().out.splitlines() == [
        "a: 3 of 3 points.", "lin_grad.py: 2 of 3 points.",
        "b.pdf: no score (it holds b.pdf, and no file that is named after an exercise).",
    ]  # fmt: skip
    assert graded("b.pdf", yes=True) == (1, 0)
    with pytest.raises(UsageError, match="name what one student handed in"):
        graded("nowhere")
    assert not out.exists(), "a container that grades the next student must not find the last one's points"
    assert graded("lin_grad.py") == (1, 2)
    (tmp_path / "in" / "link").symlink_to("a")
    with pytest.raises(UsageError, match="link is a link, and is not followed: name the folder or file"):
        graded("link")
    assert not out.exists(), "a container that grades the next student must not find the last one's points"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Name what the class handed in: handgrad grade submissions/"),
        (["--one", "x"], "--one PATH --out FILE grades what one student handed in"),
        (["in", "--one", "x", "--out", "y"], "leave out what is for a class"),
        (["--one", "x.zip"], "one student handed in: name the record with --out, as in --out ada.json."),
        (["in", "--unit", "lin_grad"], "lin_grad is no unit: name one such as 01_slopes, or --exercise lin_grad."),
        (["in", "--unit", "04_linaer"], "Did you mean 04_linear?"),
        (["in", "--exercise", "lin_gard"], "Did you mean lin_grad?"),
        (["in", "--roster", "nowhere.csv"], "name a CSV file of the class with --roster"),
    ],
)
def test_wrong_options_are_one_sentence(tmp_path, monkeypatch, arguments, says) -> None:
    put(tmp_path / "in", {"ada/lin_grad.py": RIGHT})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        app(["grade", *arguments], standalone_mode=False)
    assert says in str(caught.value)


DOCUMENT = Document(ROOT / "docs/hand-ins.md", (ROOT / "docs/hand-ins.md").read_text(encoding="utf-8"))
GRADED = {  # by what the page shows: points by student, and the exit code
    "CS-Linear-4711.zip": ({"Ada Lovelace_101": 3, "Dan O'Neil_104": None}, 1),
    "CS-Linear-4711.zip worksheet.csv": ({"ada@uni.edu": 3, "fay@uni.edu": None}, 1),
    "submissions.zip gradebook.csv": ({"ada": 3, "bob": 2, "gil": None}, 1),
    "export.zip": ({"ada@uni.edu": 3, "submission_303": None}, 1),
    "lin-alg-submissions classroom_roster.csv": ({"u101": 3, "u105": None}, 1),
}
COMMANDS = [words for words in DOCUMENT.commands("handgrad") if words[:1] == ["grade"] and "--unit" in words]


def test_the_file_names_on_the_page_are_understood(grade, tmp_path) -> None:
    """Names on the page are separated by several spaces, because they contain single ones."""
    named, canvas = [body for language, body in DOCUMENT.blocks if language == "text" and "lin_grad" in body]
    names = [name for line in named.splitlines() for name in line.split("   ")]
    answers = [name.strip() for name in names if not name.strip().startswith("quiz")]
    answered = {name: notebook(RIGHT) if ".ipynb" in name else RIGHT for name in answers}
    files = {f"s{number}/{name}": content for number, (name, content) in enumerate(answered.items())}
    points, _ = grade(put(tmp_path / "named", files))
    assert points == {f"s{number}": 3 for number in range(len(answers))}
    uploads = canvas.split()
    points, summary = grade(put(tmp_path / "canvas", dict.fromkeys(uploads, RIGHT)))
    assert points == {"lovelaceada_201": 3, "mullerbob_202": 3}
    assert "late" in " ".join(said(summary)["mullerbob_202"]).lower()


def test_the_page_shows_what_is_printed_for_empty_submissions(tmp_path: Path, capsys, monkeypatch) -> None:
    (shown,) = [body for _, body in DOCUMENT.blocks if "nothing that could be graded" in body]
    archive = platforms.moodle(tmp_path)
    with zipfile.ZipFile(archive, "a") as more:
        more.writestr("Fay F_106_assignsubmission_file/hw.rar", "Rar!")
    monkeypatch.chdir(tmp_path)
    assert app(["grade", archive.name, "--unit", "04_linear", "--workers", "1"], standalone_mode=False) == 1
    said = capsys.readouterr()
    assert shown in said.out + said.err


def test_a_student_is_found_by_the_name_in_grades_csv(course, tmp_path) -> None:
    folder = put(tmp_path / "in", {"-5+3/lin_grad.py": RIGHT, "b/lin_grad.py": RIGHT})
    found = find_submissions(course, folder, tmp_path / "out")
    assert {find_student(found.submissions, name).key for name in ("-5+3", "'-5+3")} == {"-5+3"}


def test_who_hands_in_an_untouched_stub_or_an_empty_file_is_named(course, grade, tmp_path, capsys) -> None:
    files = {"a/lin_grad.py": STUB, "b/lin_grad.py": RIGHT, "c/hw.ipynb": notebook(STUB), "d/notes.txt": ""}
    files |= {"e/lin_grad.py": "", "f/lin_grad.py": "# to do\n\n"}
    for _ in range(2):  # the second time from the records
        points, summary = grade(put(tmp_path / "in", files))
        assert points == {"a": 0, "b": 3, "c": 0, "d": None, "e": 0, "f": 0}
        assert summary.untouched == ("a", "c", "e", "f")
        print_summary(course, summary, tmp_path / "out")
        line = "Handed in only stubs, blank answer sheets or files without the function, and graded with 0 points: "
        assert f"{line}a, c, e, f." in capsys.readouterr().out
    entered = find_submissions(course, tmp_path / "in", tmp_path / "out")
    grading = Grading(1, "none", exercises=course.select(["lin_grad"]))
    summary = grade_class(course, entered, tmp_path / "out", grading, ask=lambda nothing: True)
    assert summary.untouched == ("a", "c", "e", "f"), "d handed in nothing of the course"


def test_a_student_reads_which_two_files_kept_an_exercise_from_being_graded(course, tmp_path) -> None:
    eve = put(tmp_path / "eve", {"one/lin_grad.py": RIGHT, "two/lin_grad.py": MEAN})
    grading = Grading(1, "none", exercises=course.select(["lin_grad"]))
    results = grade_submission(course, eve, tmp_path / "eve.json", grading, yes=False)
    why = (
        "This could not be graded: one/lin_grad.py and two/lin_grad.py are different answers: keep the one that "
        "counts. No points are lost: hand in that one alone, or ask whoever teaches the course."
    )
    assert {answer.verdict for answer in answers(results)} == {no_score(results)} == {why}
    page = feedback(course, results, ExportOptions())["feedback.html"].decode("ascii")
    assert "your doing" not in page
    assert page.count("one/lin_grad.py and two/lin_grad.py are different answers") > 1


@pytest.mark.parametrize(
    ("files", "notes", "nothing"),
    [
        (
            {"exercises/04_linear/lin_grad.py": RIGHT, "exercises/04_linear/stack.svg": "", "pyproject.toml": "",
             "exercises/04_linear/my.svg": ""},
            ("exercises/04_linear/my.svg was ignored: it is no exercise that is graded here",), "",
        ),
        (
            {"lin_grad.py": f"# ü\n{RIGHT}".encode("latin-1"), "04_linear/quiz.yaml": "variant: none\n"},
            ("lin_grad.py cannot be read: line 1, after '#', has the byte 0xFC, which is ü in Latin-1; it must be "
             "saved as UTF-8",),
            "04_linear/quiz.yaml: the file was not read: line 1: the variant must be the whole number that stood "
            "there: put it back",
        ),
        (
            {"linear.py": RIGHT}, (),
            "it holds linear.py, and no file that is named after an exercise (linear.py defines lin_grad: should it be "
            "lin_grad.py?)",
        ),
        ({"hw.rar": "Rar!"}, (), "hw.rar: such archives are not read; ask for a .zip or a .tar.gz"),
    ],
    ids=["files of the course", "unreadable", "another name", "said once"],
)  # fmt: skip
def test_notes_say_once_what_an_instructor_must_know(tmp_path, files, notes, nothing) -> None:
    course = load_course(PACKAGE.parent)
    content = read_submission(ExerciseNames(course, course.exercises), single_submission(put(tmp_path / "ada", files)))
    assert (content.notes, content.nothing) == (notes, nothing)


def test_only_the_code_of_an_error_says_that_the_student_can_mend_it(course) -> None:
    """The end of its message did."""
    result = course.find("lin_grad").unread_result("no memory to keep the one that counts")
    assert why_not_graded(result.answers[0]) == NOT_GRADED
    twice = Submission("ada", (), conflict="2 submissions of one student: a and b; any words", is_of_several=True)
    unread = read_submission(ExerciseNames(course, course.select(["lin_grad"])), twice).files["lin_grad"]
    assert unread == UnreadFile("error", twice.conflict, "two-answers")
    doubtful = replace(twice, is_of_several=False)
    unread = read_submission(ExerciseNames(course, course.select(["lin_grad"])), doubtful).files["lin_grad"]
    assert unread == UnreadFile("error", twice.conflict, "error")

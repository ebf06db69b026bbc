"""Whose submission each entry of a class's folder is: one layout for the whole class, and no guess without a word."""

from __future__ import annotations

import io
import os
import shutil
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest
from helpers import platforms
from helpers.courses import ROOT
from helpers.platforms import GRADESCOPE_METADATA, MEAN, RIGHT, put, zipped
from test_class_grading import names_of, small_course

from grader.classroom.class_file import read_class_file
from grader.classroom.class_folder import ClassFolder, LayoutName, counted_submission, find_student, find_submissions
from grader.classroom.grade_terminal import confirm_layout
from grader.classroom.platform_names import Submission
from grader.classroom.submissions import UnreadFile, read_submission
from grader.cli.main import app
from grader.course.course import PACKAGE, Course
from grader.errors import UsageError
from grader.results.codes import TWO_ANSWERS
from grader.results.records import StudentResults, dumps

MOODLE = "_assignsubmission_file"
SECTIONS = {f"{who}/lin_grad.py": RIGHT for who in ("A/ada", "A/bob", "B/cem", "B/dan")}
WEEKS = {f"{week}/{who}/lin_grad.py": RIGHT for week in "AB" for who in ("ada", "bob", "cem")}
ATTEMPTS = {f"{who}/{who}_try{i}/lin_grad.py": RIGHT for who in ("ada", "bob", "cem") for i in (1, 2)}


@pytest.fixture(scope="module")
def course() -> Course:
    return small_course(PACKAGE.parent)


def found_in(course: Course, path: Path, layout: LayoutName | None = None) -> ClassFolder:
    return find_submissions(course, path, path.parent / "out", layout)


def keys(found: ClassFolder) -> list[str]:
    return [submission.key for submission in found.submissions]


def by_key(found: ClassFolder) -> dict[str, Submission]:
    return {submission.key: submission for submission in found.submissions}


def content(course: Course, submission: Submission):
    return read_submission(names_of(course), submission)


@pytest.mark.parametrize("name", ["lee", "Zoe L", "ann lee"])
def test_a_student_is_found_by_an_exact_name_first(course, tmp_path, name) -> None:
    files = dict.fromkeys(("lee/lin_grad.py", "zoe-lee/lin_grad.py", "ann lee/lin_grad.py"), RIGHT)
    submissions = found_in(course, put(tmp_path / "in", files)).submissions
    submissions = (*submissions, Submission("zl", (), frozenset({"Zoe L"})))
    assert find_student(submissions, name).key == {"Zoe L": "zl"}.get(name, name)


def test_a_student_is_never_found_by_a_part_of_a_name_or_by_a_name_of_two(course, tmp_path) -> None:
    found = found_in(course, put(tmp_path / "in", {"zoe-lee/lin_grad.py": RIGHT, "ann/lin_grad.py": RIGHT}))
    with pytest.raises(UsageError, match=r"Nobody is called 'lee'\. Did you mean 'zoe-lee'\?"):
        find_student(found.submissions, "lee")
    two = {f"Bob Müller_{number}{MOODLE}/lin_grad.py": RIGHT for number in (202, 203)}
    found = found_in(course, put(tmp_path / "two", two))
    with pytest.raises(
        UsageError, match="2 students are called 'Bob Müller': name 'Bob Müller_202' or 'Bob Müller_203'"
    ):
        find_student(found.submissions, "Bob Müller")


def test_one_section_without_an_answer_changes_no_other(course, tmp_path) -> None:
    path = put(tmp_path / "in", {**SECTIONS, "C/eva/notes.txt": "hi", "D/readme.txt": "", "eve.rar": ""})
    found = found_in(course, path, "sections")
    assert keys(found) == ["D", "ada", "bob", "cem", "dan", "eva", "eve"]
    assert {key: submission.nothing for key, submission in by_key(found).items() if submission.nothing} == {
        "D": "D: no student's folder or archive lies in it",
        "eve": "eve.rar: such archives are not read; ask for a .zip or a .tar.gz",
    }
    assert content(course, by_key(found)["eva"]).nothing.startswith("it holds notes.txt")
    assert found_in(course, path).layout_name == "sections"


@pytest.mark.parametrize("files", [SECTIONS, WEEKS, ATTEMPTS, {**SECTIONS, "eve/lin_grad.py": RIGHT}])
def test_what_may_be_sections_or_students_is_asked(course, tmp_path, files) -> None:
    path = put(tmp_path / "in", files)
    found = found_in(course, path)
    assert found.layout_name == "sections"
    assert "may be a section or a student, because it holds" in found.doubt
    with pytest.raises(UsageError, match=r"name --layout sections if that is right, or --layout plain\."):
        confirm_layout(found, path, is_named=False)
    for layout in ("sections", "plain"):
        named = found_in(course, path, layout)  # type: ignore[arg-type]
        assert not named.doubt
        confirm_layout(named, path, is_named=True)
    assert keys(found_in(course, path, "plain")) == sorted({name.partition("/")[0] for name in files})


def test_one_student_with_several_folders_makes_no_sections(course, tmp_path) -> None:
    files = {f"{who}/lin_grad.py": RIGHT for who in ("ada", "bob")}
    path = put(tmp_path / "in", {**files, "cem/try1/lin_grad.py": RIGHT, "cem/try2/lin_grad.py": MEAN})
    found = found_in(course, path)
    assert (keys(found), found.doubt) == (["ada", "bob", "cem"], "")


def test_sections_of_which_some_are_archives_are_asked(course, tmp_path) -> None:
    section = {f"{who}/lin_grad.py": RIGHT for who in ("zoe", "yan", "xia", "wim", "vic", "uli", "tom")}
    files = {f"A/{name}": text for name, text in section.items()}
    path = put(tmp_path / "in", {**files, "B.zip": zipped(SECTIONS), "C.zip": zipped(section)})
    found = found_in(course, path)
    assert found.layout_name == "sections"
    assert found.doubt == "A may be a section or a student, because it holds tom, uli, vic and 4 more"
    attempts = {f"cem/try{i}/lin_grad.py": RIGHT for i in range(3)}
    few = {f"{who}.zip": zipped({"lin_grad.py": RIGHT}) for who in ("ada", "bob", "dan")}
    assert found_in(course, put(tmp_path / "few", {**few, **attempts})).doubt == ""
    plain = {f"{who}/lin_grad.py": RIGHT for who in ("ada", "bob")}
    assert found_in(course, put(tmp_path / "plain", {**files, **plain})).doubt == "", "no student can stop a run"


def in_archives(files: dict[str, str]) -> dict[str, bytes]:
    """Return an archive with the entries of each folder, in place of the folder."""
    names = sorted({name.partition("/")[0] for name in files})
    prefixed = {name: {path.removeprefix(f"{name}/"): files[path] for path in files if path.startswith(f"{name}/")}
                for name in names}  # fmt: skip
    return {f"{name}.zip": zipped(inside) for name, inside in prefixed.items()}


@pytest.mark.parametrize("files", [SECTIONS, WEEKS, ATTEMPTS])
def test_archives_that_may_be_sections_or_students_are_asked(course, tmp_path, files) -> None:
    """Each was one student's, without a question, and the work of a section was mixed."""
    path = put(tmp_path / "in", {**in_archives(files), "Z.zip": b"PK"})
    found = found_in(course, path)
    assert found.layout_name == "sections"
    assert "zip may be a section or a student, because it holds" in found.doubt
    names = sorted({name.partition("/")[0] for name in files})
    assert keys(found_in(course, path, "plain")) == sorted([*names, "Z"])
    assert not found_in(course, path, "plain").doubt
    other = {"other": {"yun.zip": zipped({"lin_grad.py": RIGHT})}, "folder": {"yun/lin_grad.py": RIGHT}}
    for name, one_more in other.items():
        plain = put(tmp_path / name, {**in_archives(files), **one_more})
        assert (found_in(course, plain).layout_name, found_in(course, plain).doubt) == ("plain", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "is_right"), [("\n", True), ("y\n", True), ("n\n", False)])
def test_the_question_says_which_option_answers_it(course, tmp_path, monkeypatch, typed, is_right) -> None:
    found = found_in(course, put(tmp_path / "in", SECTIONS))
    monkeypatch.setenv("COLUMNS", "1000")  # no line is broken
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    if is_right:
        confirm_layout(found, tmp_path / "in", is_named=False)
    else:
        with pytest.raises(UsageError, match="--layout plain"):
            confirm_layout(found, tmp_path / "in", is_named=False)
    assert "in: 2 sections, 4 students.\n" in shown.getvalue()
    assert "--layout sections answers this. [Y/n]" in shown.getvalue()


@pytest.mark.parametrize(("typed", "is_written"), [("y\ny\n", True), ("y\n\n", False), ("y\n", False)])
def test_the_answer_may_be_written_into_the_class_file(course, tmp_path, monkeypatch, typed, is_written) -> None:
    found = found_in(course, put(tmp_path / "in", SECTIONS))
    (tmp_path / "class.yaml").write_text("assignments:\n  week-1:\n    submissions: in\n")
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stderr", Terminal())
    plan = read_class_file(tmp_path)
    confirm_layout(found, tmp_path / "in", is_named=False, plan=plan, assignment="week-1")
    assert ("    layout: sections\n" in (tmp_path / "class.yaml").read_text()) is is_written


def test_a_run_without_a_terminal_is_refused_until_the_layout_is_named(tmp_path, monkeypatch) -> None:
    put(tmp_path / "in", SECTIONS)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="--layout sections"):
        app(["grade", "in"], standalone_mode=False)
    assert not (tmp_path / "grades").exists()


def test_a_download_whose_names_all_fit_is_not_asked_about(course, tmp_path) -> None:
    makers = {"moodle": platforms.moodle, "canvas": platforms.canvas, "gradescope": platforms.gradescope,
              "github": platforms.github}  # fmt: skip
    for name, make in makers.items():
        path = make(tmp_path / name)
        found = found_in(course, path)
        assert (found.layout_name, found.doubt) == (name, "")
        assert keys(found_in(course, path, name)) == keys(found)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="has no entry that is named as Moodle names them: name another layout"):
        found_in(course, put(tmp_path / "plain", {"ada/lin_grad.py": RIGHT}), "moodle")
    with pytest.raises(UsageError, match=r"holds no submission_metadata\.yml"):
        found_in(course, tmp_path / "plain", "gradescope")


def test_an_entry_that_no_platform_named_is_a_row_and_a_question(course, tmp_path) -> None:
    files = {f"{who}_1{number}{MOODLE}/lin_grad.py": RIGHT for number, who in enumerate(("Ada", "Bob"))}
    path = put(tmp_path / "in", {**files, "cem/lin_grad.py": RIGHT, "worksheet.csv": ""})
    found = found_in(course, path)
    assert (found.layout_name, found.doubt) == ("moodle", "cem is not named as there")
    assert keys(found) == ["Ada_10", "Bob_11", "cem"]
    assert by_key(found)["cem"].nothing.startswith("cem: its name is not one that Moodle gives")
    assert found.strays == ("worksheet.csv",)


def test_loose_files_that_may_be_somebodys_work_are_rows(course, tmp_path) -> None:
    loose = dict.fromkeys(("cem.rar", "dan.7z", "eva.py", "fay.ipynb", "ada.ipynb", "notes.txt", "lin_grad.py"), "")
    path = put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, **loose})
    (path / "gil").symlink_to(tmp_path)
    found = found_in(course, path)
    assert keys(found) == ["ada", "ada.ipynb", "cem", "dan", "eva", "fay", "gil"]
    why = {key: content(course, submission).nothing for key, submission in by_key(found).items()}
    assert why["ada"] == ""
    assert why["cem"] == "cem.rar: such archives are not read; ask for a .zip or a .tar.gz"
    assert why["fay"] == (
        "fay.ipynb: it lies outside of any student's folder; put it into a folder with the student's name"
    )
    assert why["gil"] == "gil: it is a link; ask for the file itself"
    assert found.strays == ("lin_grad.py", "notes.txt")


def test_a_flat_folder_of_notebooks_has_a_way_on(course, tmp_path) -> None:
    path = put(tmp_path / "in", dict.fromkeys(("ada.ipynb", "bob.ipynb"), ""))
    with pytest.raises(UsageError, match=r"give each student one, such as ada/ada\.ipynb, laid out like exercises/"):
        found_in(course, path)


def test_two_submissions_of_one_name_are_an_error_that_names_both(course, tmp_path) -> None:
    files = {"ada/lin_grad.py": RIGHT, "ada.zip": zipped({"lin_grad.py": MEAN}), "bob/lin_grad.py": RIGHT}
    spellings = [unicodedata.normalize(form, "Jürgen") for form in ("NFC", "NFD")]
    found = found_in(course, put(tmp_path / "in", {**files, **{f"{name}/lin_grad.py": RIGHT for name in spellings}}))
    assert keys(found) == ["Jürgen", "ada", "bob"]
    assert by_key(found)["ada"].conflict == "2 submissions of one student: ada and ada.zip; keep the one that counts"
    assert "spelled in two ways in Unicode" in by_key(found)["Jürgen"].conflict
    file = content(course, by_key(found)["ada"]).files["lin_grad"]
    assert (file.status, file.why) == ("error", by_key(found)["ada"].conflict)  # type: ignore[union-attr]


def test_names_that_are_almost_one_are_noted(course, tmp_path) -> None:
    names = ("ada", "Bob", "bob", "cem", "con")
    files: dict[str, str | bytes] = {f"{name}/lin_grad.py": RIGHT for name in names}
    files["ada (1).zip"] = zipped({"lin_grad.py": RIGHT})
    found = found_in(course, put(tmp_path / "in", files))
    assert {key: submission.notes[0] for key, submission in by_key(found).items() if submission.notes} == {
        **dict.fromkeys(("Bob", "bob", "ada", "ada (1)"), "its name is almost that of another student here"),
        "con": "its name is one that Windows reserves: its record cannot be copied there",
    }


def test_the_newest_submission_counts_whole(course, tmp_path) -> None:
    """Even where another one has files that the newest has not."""
    relu = "def relu_grad(inp, out):\n    inp.g = (inp > 0) * out.g\n"
    files = {
        "A/adaL_1_11_lin_grad.py": RIGHT, "A/adaL_1_12_relu_grad.py": relu, "A/bobM_2_13_lin_grad.py": RIGHT,
        "A/bobM_2_14_lin_grad-1.py": MEAN, "B/adaL_1_21_lin_grad.py": MEAN, "B/cem_3_22_lin_grad.py": RIGHT,
    }  # fmt: skip
    found = found_in(course, put(tmp_path / "in", files), "sections")
    assert keys(found) == ["adaL_1", "bobM_2", "cem_3"], "who uploads twice keeps the name"
    assert content(course, by_key(found)["adaL_1"]).files == {"lin_grad": MEAN.encode()}
    assert by_key(found)["adaL_1"].notes == (
        "B/adaL_1 is the newest submission and counts alone: A/adaL_1 does not count",
    )
    assert found.heading == "2 sections, 3 students, 1 with more than one submission: the newest counts"


def test_several_submissions_that_do_not_count_are_plural(course, tmp_path) -> None:
    files = {f"{section}/adaL_1_{upload}_lin_grad.py": RIGHT for section, upload in (("A", 11), ("B", 21), ("C", 31))}
    (note,) = by_key(found_in(course, put(tmp_path / "in", files), "sections"))["adaL_1"].notes
    assert note.endswith("counts alone: A/adaL_1 and B/adaL_1 do not count")


def test_the_page_shows_the_line_on_the_layout(capsys) -> None:
    submissions = [Submission(f"s{i}", (), earlier=("A/x",) if i < 2 else ()) for i in range(31)]
    class_folder = ClassFolder(tuple(submissions), "2 sections", layout_name="sections")
    confirm_layout(class_folder, Path("submissions"), is_named=True)
    assert capsys.readouterr().err in (ROOT / "docs/hand-ins.md").read_text(encoding="utf-8")


def test_without_a_number_that_orders_submissions_none_is_chosen() -> None:
    first, second = (Submission("ada", (), order=order, origin=f"{order}") for order in (1, 2))
    assert counted_submission([second, first]).origin == "2"
    for others in ([first, Submission("ada", (), origin="x")], [second, second, first]):
        assert counted_submission(others).conflict.endswith("; keep the one that counts")


def test_gradescope_says_when_a_submission_was_handed_in(course, tmp_path) -> None:
    again = """submission_304:
  :submitters:
  - :name: Bob Müller
    :email: bob@uni.edu
  :created_at: '2026-04-27T10:00:00+02:00'
submission_305:
  :submitters:
  - :email: bob@uni.edu
  :created_at: 2026-04-27 07:00:00 Z
submission_306:
  :submitters:
  - :email: eve@uni.edu
  :created_at: yesterday
"""
    files = {f"submission_30{i}/lin_grad.py": RIGHT for i in (1, 4, 5, 6)}
    metadata = GRADESCOPE_METADATA.partition("submission_302:\n  :submitters:\n")[0] + again
    found = found_in(course, put(tmp_path / "in", {**files, "submission_metadata.yml": metadata}))
    assert {key: submission.handed_in for key, submission in by_key(found).items()} == {
        "ada@uni.edu": datetime(2026, 4, 26, 17, 34, 0, 861687, UTC),
        "bob@uni.edu": datetime(2026, 4, 27, 8, tzinfo=UTC),
        "eve@uni.edu": None,
    }
    assert by_key(found)["bob@uni.edu"].earlier == ("submission_305",)


def test_gradescope_knows_the_time_of_a_submission_without_submitters(course, tmp_path) -> None:
    """Its late points were not taken off: it had no known time."""
    metadata = "".join(
        f"submission_{number}:\n  :submitters: {who}\n  :created_at: 2026-04-2{number} 10:00:00 Z\n"
        for number, who in ((1, "[{':email': ada@uni.edu}]"), (2, "[]"), (3, "[]"))
    )
    files = {f"submission_{number}/lin_grad.py": RIGHT for number in (1, 2, 4)}
    found = found_in(course, put(tmp_path / "in", {**files, "submission_metadata.yml": metadata}))
    assert {key: submission.handed_in for key, submission in by_key(found).items()} == {
        "ada@uni.edu": datetime(2026, 4, 21, 10, tzinfo=UTC),
        "submission_2": datetime(2026, 4, 22, 10, tzinfo=UTC),
        "submission_4": None,
    }, "a submission of nobody whose folder is missing is nobody's"


def test_no_time_is_taken_from_a_file(course, tmp_path) -> None:
    for make in (platforms.moodle, platforms.canvas, platforms.github, platforms.sections):
        found = found_in(course, make(tmp_path / make.__name__))
        assert {submission.handed_in for submission in found.submissions} == {None}


def test_a_section_may_be_an_archive(course, tmp_path) -> None:
    uploads = {f"sec{who[0].upper()}.zip": zipped({f"{who}_1{i}_9{i}_lin_grad.py": RIGHT})
               for i, who in enumerate(("ada", "bob"))}  # fmt: skip
    path = put(tmp_path / "in", {**uploads, "secC.zip": b"PK", "secD.zip": zipped({"lin_grad.py": RIGHT})})
    found = found_in(course, path)
    assert content(course, by_key(found)["secA"]).nothing == (
        "it holds secA.zip/ada_10_90_lin_grad.py, as Canvas names files: if it is a section, name --layout sections"
    )
    found = found_in(course, path, "sections")
    assert keys(found) == ["ada_10", "bob_11", "secC", "secD"]
    assert found.heading == "2 sections, 2 students", "what the run says to lie outside of any is none"
    assert content(course, by_key(found)["bob_11"]).files == {"lin_grad": RIGHT.encode()}
    assert by_key(found)["secC"].nothing == "secC.zip: it cannot be read, it is damaged: download it again"
    assert by_key(found)["secD"].nothing.startswith("secD.zip: it is one student's, and lies outside of any section")


DOWNLOADS = {
    "canvas": ({"ada_1_91_lin_grad.py": RIGHT, "bob_2_92_lin_grad.py": RIGHT}, ["ada_1", "bob_2"]),
    "canvas of one": ({"ada_1_91_lin_grad.py": RIGHT}, ["ada_1"]),
    "moodle": ({f"Ada_1{MOODLE}/lin_grad.py": RIGHT, f"Bob_2{MOODLE}/lin_grad.py": RIGHT}, ["Ada_1", "Bob_2"]),
    "gradescope": (
        {
            "assignment_1_export/submission_metadata.yml": GRADESCOPE_METADATA,
            "assignment_1_export/submission_9/lin_grad.py": RIGHT,
        },
        ["submission_9"],
    ),
    "github": ({f"lab-submissions/lab-{who}/lin_grad.py": RIGHT for who in ("ada", "bob")}, ["ada", "bob"]),
}


@pytest.mark.parametrize(("files", "students"), DOWNLOADS.values(), ids=DOWNLOADS)
def test_a_section_may_be_a_folder_that_holds_its_download(course, tmp_path, files, students) -> None:
    others = {
        "B/zoe/lin_grad.py": RIGHT,
        "B/yan/lin_grad.py": RIGHT,
        "A/gradebook.csv": "Student,ID",
        "A/.DS_Store": "",
    }
    path = put(tmp_path / "in", {"A/submissions.zip": zipped(files), **others})
    found = found_in(course, path, "sections")
    of_section = [submission.key for submission in found.submissions if submission.section == "A"]
    assert [key for key in of_section if key in students] == students
    assert all(content(course, by_key(found)[key]).files == {"lin_grad": RIGHT.encode()} for key in students)
    assert {"zoe", "yan"} <= {*keys(found)}
    assert found.strays == ("gradebook.csv",)


def test_the_only_archive_of_a_section_may_be_a_students(course, tmp_path) -> None:
    own = {"__MACOSX/._lin_grad.py": "", "lab_1_2_a.py": "", "lin_grad.py": RIGHT}
    attempts = {"try1/lin_grad.py": RIGHT, "try2/lin_grad.py": RIGHT}
    archives = {"A/ada.zip": zipped(own), "B/bob.zip": zipped(attempts), "C/cem.zip": b"PK"}
    found = found_in(course, put(tmp_path / "in", archives), "sections")
    assert (keys(found), found.strays) == (["ada", "bob", "cem"], ())
    for key in ("ada", "bob"):
        assert content(course, by_key(found)[key]).files == {"lin_grad": RIGHT.encode()}
    assert "damaged" in content(course, by_key(found)["cem"]).nothing


def test_a_download_among_the_students_of_a_section_has_a_step_that_works(course, tmp_path) -> None:
    files, students = DOWNLOADS["canvas"]
    path = put(tmp_path / "in", {"A/x.zip": zipped(files), "A/zoe/lin_grad.py": RIGHT, "B/yan/lin_grad.py": RIGHT})
    found = found_in(course, path, "sections")
    assert content(course, by_key(found)["x"]).nothing == (
        "it holds the work of several students, as Canvas names files: if it is a section, put it beside the sections, "
        "as one of them"
    )
    (path / "A/x.zip").rename(path / "x.zip")
    assert keys(found_in(course, path, "sections")) == [*students, "yan", "zoe"]


def test_a_download_of_several_students_is_never_graded_as_one(course, tmp_path) -> None:
    files = {f"{who}_1{i}{MOODLE}/lin_grad.py": RIGHT for i, who in enumerate(("Ada", "Bob"))}
    found = found_in(course, put(tmp_path / "in", {"secA.zip": zipped(files), "secB.zip": zipped(files)}))
    read = content(course, by_key(found)["secA"])
    assert (read.files, read.nothing[:39]) == ({}, "it holds the work of several students, ")
    files = {
        "ada_10_90_hw.zip": zipped({"lin_grad.py": RIGHT}),
        "bob_11_91_lin_grad.py": MEAN,
    }
    found = found_in(course, put(tmp_path / "canvas", {"secA.zip": zipped(files), "secB.zip": zipped(files)}))
    assert content(course, by_key(found)["secA"]).nothing == (
        "it holds the work of several students, as Canvas names files: if it is a section, name --layout sections"
    )
    own = {"lab_1_2_a.py": "", "exp_1_2_b.py": "", "lin_grad.py": RIGHT, "own.py": ""}
    found = found_in(course, put(tmp_path / "own", {f"ada/{name}": text for name, text in own.items()}), "plain")
    assert content(course, by_key(found)["ada"]).files == {"lin_grad": RIGHT.encode()}


@pytest.mark.parametrize("out", ["in/bob", "in/dan", "in/bob/deeper/grades"])
def test_results_never_go_into_a_students_folder(course, tmp_path, out) -> None:
    path = put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "bob/lin_grad.py": RIGHT})
    (path / "dan").mkdir()
    with pytest.raises(UsageError, match="and may be a student's: name another folder with --out"):
        find_submissions(course, path, tmp_path / out)


def test_results_may_lie_directly_in_the_folder_of_the_class(course, tmp_path) -> None:
    path = put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "bob/lin_grad.py": RIGHT})
    assert keys(find_submissions(course, path, path / "grades")) == ["ada", "bob"]
    put(path / "grades", {"grades.csv": "", "ada.json": "{}", "removed/bob.json": "{}"})
    assert keys(find_submissions(course, path, path / "grades")) == ["ada", "bob"]


def results_of(course: Course, *students: str) -> dict[str, str]:
    """Return the files of a results folder of these students, by name."""
    records = [StudentResults(course.config.course, student, (), course_digest="0") for student in students]
    return {"grades.csv": "student\n", **{f"{record.student}.json": dumps(record) for record in records}}


LAYOUTS_WITH_RESULTS = {
    "plain": ({"ada/lin_grad.py": RIGHT, "bob/lin_grad.py": RIGHT}, ["ada", "bob"], ""),
    "sections": (SECTIONS, ["ada", "bob", "cem", "dan"], "A/"),
    "moodle": ({f"Ada_1{MOODLE}/lin_grad.py": RIGHT, f"Bob_2{MOODLE}/lin_grad.py": RIGHT}, ["Ada_1", "Bob_2"], ""),
    "canvas": ({"ada_1_9_lin_grad.py": RIGHT, "bob_2_9_lin_grad.py": RIGHT}, ["ada_1", "bob_2"], ""),
    "gradescope": (
        {"submission_metadata.yml": GRADESCOPE_METADATA, "submission_1/lin_grad.py": RIGHT}, ["submission_1"], "",
    ),
    "github": ({"lab-ada/.git/HEAD": "", "lab-ada/lin_grad.py": RIGHT, "lab-bob/hw.ipynb": ""}, ["ada", "bob"], ""),
}  # fmt: skip


@pytest.mark.parametrize("place", ["results", "grades/week-1"])
@pytest.mark.parametrize("layout", LAYOUTS_WITH_RESULTS)
def test_results_of_another_run_are_nobodys_in_any_layout(course, tmp_path, layout, place) -> None:
    files, students, section = LAYOUTS_WITH_RESULTS[layout]
    path = put(tmp_path / "in", files)
    alone = keys(found_in(course, path, layout))
    assert [key for key in alone if key in students] == students
    put(path / section / place, results_of(course, "ada", "bob"))
    put(path / section / place / "removed", results_of(course, "zoe"))
    for name in (None, layout):
        if name or layout not in ("sections", "github"):
            found = found_in(course, path, name)
            assert (keys(found), found.strays) == (alone, (place.partition("/")[0],))
    if layout == "sections":
        assert found_in(course, path).layout_name == "sections"


def test_results_in_the_archive_of_a_class_are_nobodys(course, tmp_path) -> None:
    results = {f"results/{name}": text for name, text in results_of(course, "ada").items()}
    files = {"ada/lin_grad.py": RIGHT, "bob/lin_grad.py": RIGHT, **results}
    put(tmp_path, {"in.zip": zipped(files)})
    found = found_in(course, tmp_path / "in.zip")
    assert (keys(found), found.strays) == (["ada", "bob"], ("results",))


@pytest.mark.parametrize(
    "work", ["lin_grad.py", "own.py", "hw.ipynb", "deep/lin_grad.py", "deep/er/still/hw.zip", "a/b/c/d/e.txt"]
)
def test_a_student_who_hands_in_results_too_is_a_student(course, tmp_path, work) -> None:
    files = {**results_of(course, "ada"), work: RIGHT}
    path = put(tmp_path / "in", {"bob/lin_grad.py": RIGHT, **{f"ada/{name}": text for name, text in files.items()}})
    assert keys(found_in(course, path, "plain")) == ["ada", "bob"]


def test_the_record_of_ones_own_check_alone_is_a_students_submission(course, tmp_path) -> None:
    own = dumps(StudentResults(course.config.course, "learner", ()))
    path = put(tmp_path / "in", {"bob/lin_grad.py": RIGHT, "ada/check.json": own})
    assert keys(found_in(course, path, "plain")) == ["ada", "bob"]


def test_the_only_student_may_be_a_class_and_this_is_said(course, tmp_path) -> None:
    path = put(tmp_path / "in", {"class/ada/lin_grad.py": RIGHT})
    assert found_in(course, path).remarks == (
        f"class is taken for the only student: if it is the folder of a class, name {path / 'class'}.",
    )
    assert found_in(course, path / "class").remarks == ()
    assert keys(found_in(course, path / "class")) == ["ada"]


def test_the_only_student_of_an_archive_may_be_a_class_and_a_step_that_works_is_said(course, tmp_path) -> None:
    put(tmp_path, {"in.zip": zipped({"class/ada/lin_grad.py": RIGHT})})
    assert found_in(course, tmp_path / "in.zip").remarks == (
        "class is taken for the only student: if it is the folder of a class, unpack "
        f"{tmp_path / 'in.zip'} and name class.",
    )


@pytest.mark.parametrize("names", [("hw.ipynb", "hw.ipynb"), ("lin_grad.py", "hw.docx"), ("hw.zip", "hw.zip")])
def test_one_folder_of_a_class_without_named_files_is_no_student(course, tmp_path, names) -> None:
    """Notebooks, and archives in folders, are work just as files that are named after an exercise."""
    files = {f"week1/{who}/{name}": "x" for who, name in zip(("ada", "ben"), names, strict=True)}
    path = put(tmp_path / "in", files)
    with pytest.raises(UsageError, match="holds one folder, which may be the class's or its only student's"):
        found_in(course, path)
    assert keys(found_in(course, path / "week1")) == ["ada", "ben"]
    assert keys(found_in(course, path, "plain")) == ["week1"]
    put(tmp_path, {"in.zip": zipped(files)})
    found = found_in(course, tmp_path / "in.zip")
    assert (keys(found), found.remarks) == (
        ["ada", "ben"],
        (f"week1 is taken for the folder of the class: if it is one student's, use --one {tmp_path / 'in.zip'}.",),
    )


def test_sections_of_students_with_notebooks_are_asked(course, tmp_path) -> None:
    path = put(tmp_path / "in", {f"{who}/hw.ipynb": "{}" for who in ("A/ada", "A/bob", "B/cem", "B/dan")})
    found = found_in(course, path)
    assert (found.layout_name, found.doubt) == (
        "sections",
        "A may be a section or a student, because it holds ada, bob",
    )
    with_one = put(tmp_path / "one", {f"{who}/hw.ipynb": "{}" for who in ("ada", "bob", "cem/a", "cem/b")})
    assert (keys(found_in(course, with_one)), found_in(course, with_one).doubt) == (["ada", "bob", "cem"], "")


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_empty_folder_in_an_archive_is_a_students_as_on_disk(course, tmp_path, kind) -> None:
    path = put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "ben/lin_grad.py": RIGHT})
    for empty in ("empty", "sub/inner"):
        (path / empty).mkdir(parents=True)
    archive = Path(shutil.make_archive(str(tmp_path / "class"), kind, path))
    for place in (path, archive):
        submissions = by_key(found_in(course, place))
        assert sorted(submissions) == ["ada", "ben", "empty", "sub"]
        assert [content(course, submissions[key]).nothing for key in ("empty", "sub")] == ["it is empty"] * 2


def test_a_submission_that_gradescope_names_and_does_not_export_is_its_students(course, tmp_path) -> None:
    files = {"submission_301/lin_grad.py": RIGHT, "submission_metadata.yml": GRADESCOPE_METADATA}
    submissions = by_key(found_in(course, put(tmp_path / "in", files)))
    named = {submission.origin: submission for submission in submissions.values()}
    assert named["submission_302"].nothing == (
        "submission_302: the export holds no such folder, though submission_metadata.yml names it"
    )


def test_a_path_that_leads_out_of_an_archive_is_nobodys(course, tmp_path) -> None:
    put(tmp_path, {"class.zip": zipped({"ada/lin_grad.py": RIGHT, "bob/lin_grad.py": RIGHT, "../eve/lin_grad.py": ""})})
    found = found_in(course, tmp_path / "class.zip")
    assert (keys(found), found.strays) == (["ada", "bob"], ("../eve/lin_grad.py",))


def test_two_attempts_in_a_plain_folder_are_an_error_of_that_student_alone(course, tmp_path) -> None:
    files = {"ada/try1/lin_grad.py": RIGHT, "ada/try2/lin_grad.py": MEAN, "bob/lin_grad.py": RIGHT}
    path = put(tmp_path / "in", files)
    os.utime(path / "ada/try1/lin_grad.py", (1_000_000_000, 1_000_000_000))
    submissions = by_key(found_in(course, path, "plain"))
    assert content(course, submissions["ada"]).files["lin_grad"] == UnreadFile(
        "error", "try1/lin_grad.py and try2/lin_grad.py are different answers: keep the one that counts", TWO_ANSWERS
    )
    assert content(course, submissions["bob"]).files["lin_grad"] == RIGHT.encode()
    put(path, {"ada/try1/lin_grad.py": MEAN})
    assert content(course, submissions["ada"]).files["lin_grad"] == MEAN.encode()


def test_one_folder_with_several_attempts_is_never_taken_for_a_class(course, tmp_path) -> None:
    """Nothing tells it from the folder of a class, so that the layout, or the inner folder, must be named."""
    path = put(tmp_path / "in", {f"ada/{name}/lin_grad.py": RIGHT for name in ("try1", "try2")})
    with pytest.raises(UsageError) as caught:
        found_in(course, path)
    assert str(caught.value) == (
        f"{path} holds one folder, which may be the class's or its only student's, because it holds try1, try2: "
        f"name {path / 'ada'} for the class, or --layout plain for the student."
    )
    assert keys(found_in(course, path, "plain")) == ["ada"]
    assert keys(found_in(course, path / "ada", "plain")) == ["try1", "try2"]
    files = {f"{place}/lin_grad.py": RIGHT for place in ("Mon/ada/try1", "Mon/ada/try2", "Tue/bob", "Tue/cem")}
    assert keys(found_in(course, put(tmp_path / "sections", files), "sections")) == ["ada", "bob", "cem"]


@pytest.mark.parametrize("place", ["deep/er", "try1"])
def test_a_student_who_is_called_like_a_tool_is_graded_wherever_the_exercise_lies(course, tmp_path, place) -> None:
    files = {f"env/{place}/lin_grad.py": RIGHT, "bob/lin_grad.py": RIGHT, "venv/lib/python3/site-packages/x.py": ""}
    found = found_in(course, put(tmp_path / "in", files), "plain")
    assert (keys(found), found.strays) == (["bob", "env"], ("venv",))


def test_an_export_from_gradescope_without_its_metadata_is_refused(course, tmp_path) -> None:
    path = put(tmp_path / "in", {f"submission_{number}/lin_grad.py": RIGHT for number in (4011, 4012)})
    for layout in (None, "gradescope"):
        with pytest.raises(UsageError, match=r"submission_metadata\.yml, which says whose each submission is:"):
            found_in(course, path, layout)
    assert keys(found_in(course, path, "plain")) == ["submission_4011", "submission_4012"]


def test_a_module_beside_an_answer_is_imported_in_either_unicode_spelling(course, tmp_path) -> None:
    """It was reported as ignored, or not found."""
    answer = "from größe import half\n" + RIGHT
    for student, form in (("ada", "NFC"), ("bob", "NFD")):
        module = unicodedata.normalize(form, "größe.py")
        put(tmp_path / "in", {f"{student}/lin_grad.py": answer, f"{student}/{module}": "half = 0.5\n"})
    for submission in found_in(course, tmp_path / "in").submissions:
        read = content(course, submission)
        assert list(read.importable_files(course.find("lin_grad"))) == ["größe.py", "lin_grad.py"]
        assert not [note for note in read.notes if "ignored" in note]

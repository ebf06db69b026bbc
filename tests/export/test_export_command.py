"""`handgrad export`: from a record or a folder of them to files, and what it says of those that are not complete."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from helpers.class_results import CLASS, write_folder
from helpers.platform_formats import CLASSROOM50, RUNNER, STUDENT_PLATFORMS, workflow_commands
from jsonschema import Draft202012Validator
from test_export_sheets import MOODLE
from typer.testing import CliRunner, Result

from grader.classroom.results_folder import course_digest, result_file
from grader.cli.main import app
from grader.cli.results import Platform
from grader.course.course import PACKAGE, load_course
from grader.errors import UsageError
from grader.export.graded_work import ExportOptions
from grader.export.platforms import OPTION_READERS, PLATFORMS, RECORD_FILES
from grader.results.records import Adjustment, AnswerResult, ExerciseResult, StudentResults, dumps

LIN = "exercises/04_linear/lin_grad.py"


@pytest.fixture
def grades(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graded class in a folder of the course."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "course.yaml").write_text((PACKAGE.parent / "course.yaml").read_text("utf-8"), encoding="utf-8")
    return write_folder(tmp_path / "grades", CLASS)


def export(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def usage_error(*arguments: object) -> str:
    found = export(*arguments).exception
    assert isinstance(found, UsageError)
    return str(found)


def test_one_record_becomes_the_platforms_file(grades: Path) -> None:
    done = export(grades / "ben.json", "--to", "gradescope", "--out", "results")
    assert (done.exit_code, done.stdout) == (0, "1 file(s) written to results.\n")
    assert json.loads(Path("results/results.json").read_bytes())["score"] == 2


def test_without_a_score_no_file_of_an_earlier_export_is_left_for_classroom50(grades: Path) -> None:
    """A result that the learner had committed, or one of an earlier run, stayed where the runner reads it."""
    Path("out").mkdir()
    Path("out/result.json").write_text("33 of 33", encoding="utf-8")
    done = export(grades / "eve.json", "--to", "classroom50", "--out", "out")
    assert done.exit_code == 3
    assert "handgrad: No longer exported, and put away in out/removed: result.json." in done.stderr
    assert [path.name for path in Path("out").iterdir()] == ["removed"]
    assert export(grades, "--to", "classroom50", "--out", "class").exit_code == 3
    write_folder(grades, [replace(each, reason="nothing was handed in", exercises=todo_of(each)) for each in CLASS])
    assert export(grades, "--to", "classroom50", "--out", "class").exit_code == 1
    assert sorted(path.name for path in Path("class").iterdir()) == ["index.csv", "removed"]


def test_an_export_that_fails_leaves_no_earlier_file_for_the_platform(grades: Path) -> None:
    """Where the record could not be read, the platform would have read the result of an earlier run."""
    assert export(grades / "ada.json", "--to", "gradescope", "--out", "out").exit_code == 0
    Path("broken.json").write_text("{", encoding="utf-8")
    done = export("broken.json", "--to", "gradescope", "--out", "out")
    assert isinstance(done.exception, UsageError)
    assert done.stderr == "handgrad: No longer exported, and put away in out/removed: results.json.\n"
    assert [path.name for path in Path("out").iterdir()] == ["removed"]
    kept = grades / "results.json"  # the record of a student who is called results
    (grades / "ada.json").rename(kept)
    assert "broken.json" in usage_error("broken.json", "--to", "gradescope", "--out", grades)
    assert kept.exists()


def test_the_files_of_a_record_are_known_for_every_platform(grades: Path) -> None:
    course = load_course(PACKAGE.parent)
    for platform in STUDENT_PLATFORMS:
        exported = PLATFORMS[platform](course, [CLASS[0]], ExportOptions(is_single=True))
        assert tuple(exported.files) == RECORD_FILES[platform]


def todo_of(record: StudentResults) -> tuple[ExerciseResult, ...]:
    """Return the exercises of a record as if nothing had been handed in for them."""
    return tuple(
        replace(each, answers=tuple(AnswerResult(a.name, "todo", 0.0, a.max_score, "todo") for a in each.answers))
        for each in record.exercises
    )


def test_a_class_becomes_a_file_for_each_student(grades: Path) -> None:
    done = export(grades, "--to", "junit")
    assert sorted(path.name for path in Path("exported/junit").iterdir()) == [
        *(f"{each.student}.junit.xml" for each in CLASS), "index.csv",
    ]  # fmt: skip
    assert done.exit_code == 3
    assert (
        done.stderr == "handgrad: eve, relu_grad inp.g: not graded (the worker is gone), so no points are exported.\n"
    )


def test_feedback_on_an_error_with_points_from_a_person_sends_nobody_to_ask(grades: Path) -> None:
    eve = next(record for record in CLASS if record.student == "eve")
    write_folder(grades, [replace(eve, adjustments=(Adjustment("relu_grad", 1.0, "read by hand"),))])
    done = export(grades / "eve.json", "--to", "vpl", "--out", "-")
    assert done.exit_code == 0
    assert "A person has graded this exercise" in done.stdout
    assert "No points are lost" not in done.stdout


@pytest.mark.parametrize(("to", "is_cut"), [("vpl", True), ("submitty", True), ("gradescope", False), ("junit", False)])
def test_points_above_the_maximum_that_a_platform_does_not_take_are_named(grades: Path, to: str, is_cut: bool) -> None:
    ada = replace(CLASS[0], adjustments=(Adjustment("", 2.0, "a proof"),))
    write_folder(grades, [ada])
    done = export(grades / "ada.json", "--to", to)
    points = f"{ada.score:g} of {ada.max_score:g} points"
    says = f"handgrad: ada: {points}, and {to} takes no points above the maximum: they are cut there.\n"
    assert (done.exit_code, done.stderr) == (0, says if is_cut else "")


def test_an_export_is_the_same_bytes_again(grades: Path) -> None:
    for out in ("once", "again"):
        export(grades, "--to", "gradescope", "--out", out)
    assert [path.read_bytes() for path in sorted(Path("once").iterdir())] == [
        path.read_bytes() for path in sorted(Path("again").iterdir())
    ]


def test_a_file_printed_for_a_program_has_nothing_around_it(grades: Path) -> None:
    done = export(grades / "ada.json", "--to", "vpl", "--out-of", "10", "--out", "-")
    assert done.stdout.endswith("--|>\nGrade :=>>10\n")
    assert "written" not in done.stdout
    assert "name a folder for them" in usage_error(grades / "ada.json", "--to", "github", "--out", "-")


def test_pages_never_lie_among_records_or_among_what_was_handed_in(grades: Path) -> None:
    before = sorted(grades.iterdir())
    assert usage_error(grades, "--to", "feedback", "--out", grades) == (
        f"{grades} holds the results of a class: name another folder with --out."
    )
    assert sorted(grades.iterdir()) == before
    clone = Path("clones/lab-ada/exercises/lin_grad.py")
    clone.parent.mkdir(parents=True)
    clone.write_text("", encoding="utf-8")
    for out in ("clones", "clones/lab-ada"):
        name = "lab-ada" if out == "clones" else "exercises"
        assert usage_error(grades, "--to", "vpl", "--out", out) == (
            f"{out} holds {name}, which a student may have handed in: name another folder with --out."
        )
    Path("empty").mkdir()
    assert export(grades, "--to", "vpl", "--out", "empty").exit_code == 3
    assert export(grades, "--to", "vpl", "--out", "empty").exit_code == 3, "over an earlier export"


@pytest.mark.parametrize("unit", ["01_slopes", "1"])
def test_a_unit_alone_has_the_points_of_that_unit(grades: Path, unit: str) -> None:
    done = export(grades / "ben.json", "--to", "vpl", "--unit", unit, "--out-of", "100", "--out", "-")
    assert "lin_grad" not in done.stdout
    assert float(done.stdout.rpartition(":=>>")[2]) == 100
    assert "There is no unit '99_none'" in usage_error(grades, "--to", "vpl", "--unit", "99_none")


def test_the_sheet_of_a_class_names_whoever_has_no_row(grades: Path) -> None:
    Path("sheet.csv").write_text(MOODLE, encoding="utf-8", newline="")
    (grades / "ada.json").write_text((grades / "ada.json").read_text().replace('"ada"', '"Ada Lovelace"'))
    done = export(grades, "--to", "moodle", "--fill", "sheet.csv")
    assert done.exit_code == 3
    assert "1 of 2 rows filled" in done.stderr
    assert "No row of their own was found for ben, cleo, dan, finn" in done.stderr
    assert "gone.csv cannot be read" in usage_error(grades, "--to", "moodle", "--fill", "gone.csv")


@pytest.mark.parametrize("platform", get_args(Platform))
@pytest.mark.parametrize("number", ["inf", "nan", "0", "-3", "1e300"])
def test_a_highest_score_that_is_none_is_wrong_usage_on_every_platform(
    grades: Path, platform: str, number: str
) -> None:
    says = usage_error(grades, "--to", platform, f"--out-of={number}")
    assert "--out-of" in says
    if platform in OPTION_READERS["--out-of"]:
        shown = {"1e300": "1e+300"}.get(number, number)
        assert says == f"--out-of {shown} is no highest score: name a number from 0.01 to 1000000."
    assert not Path("exported").exists()


@pytest.mark.parametrize("platform", get_args(Platform))
def test_an_option_that_a_platform_does_not_read_is_refused_with_those_that_do(grades: Path, platform: str) -> None:
    Path("sheet.csv").write_text(MOODLE, encoding="utf-8", newline="")
    given = {"--fill": "sheet.csv", "--column": "Grade", "--out-of": "10"}
    for option, value in given.items():
        if platform not in OPTION_READERS[option]:
            listed = "canvas, moodle and vpl" if option == "--out-of" else "canvas and moodle"
            says = f"{option} is for {listed}: leave it out for {platform}."
            assert usage_error(grades, "--to", platform, option, value) == says
    assert not Path("exported").exists()


def test_the_student_platforms_that_scale_points_are_those_that_take_a_highest_score(grades: Path) -> None:
    course = load_course(PACKAGE.parent)
    scaled = []
    for platform in sorted(STUDENT_PLATFORMS):
        files = [dict(PLATFORMS[platform](course, [CLASS[0]], ExportOptions(most)).files) for most in (None, 77.0)]
        scaled += [platform] if files[0] != files[1] else []
    assert scaled == [name for name in OPTION_READERS["--out-of"] if name in STUDENT_PLATFORMS]


def test_classroom50_takes_the_runners_variables(grades: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in RUNNER.items():
        if name != "DATETIME":
            monkeypatch.setenv(name, value)
    assert export(grades / "ben.json", "--to", "classroom50", "--out", ".").exit_code == 0
    Draft202012Validator(CLASSROOM50).validate(json.loads(Path("result.json").read_bytes()))
    Path("result.json").unlink()
    assert export(grades / "eve.json", "--to", "classroom50", "--out", ".").exit_code == 3
    assert not Path("result.json").exists()


def test_annotations_point_to_the_function(grades: Path) -> None:
    Path(LIN).parent.mkdir(parents=True)
    Path(LIN).write_text("import torch\n\n\ndef lin_grad(inp, out, w, b):\n    ...\n")
    export(grades / "ben.json", "--to", "github", "--out", ".")
    assert workflow_commands(Path("annotations.txt").read_text())[0][1]["line"] == "4"


def test_no_message_is_a_workflow_command(grades: Path) -> None:
    broken = grades / "eve.json"
    broken.write_text(broken.read_text().replace("the worker is gone", "##[add-mask]x\\n::add-mask::y"))
    done = export(grades, "--to", "vpl")
    assert workflow_commands(done.stderr) == []


def test_a_file_that_is_no_record_is_named(grades: Path) -> None:
    (grades / "ada.json").write_text("{")
    done = export(grades, "--to", "vpl")
    assert done.exit_code == 3
    assert "not exported: ada.json: it is no valid JSON." in done.stderr
    assert "ada.json: it is no valid JSON" in usage_error(grades / "ada.json", "--to", "vpl")
    assert "none.json" in usage_error("none.json", "--to", "vpl")
    Path("taken").write_text("")
    assert "taken cannot be written" in usage_error(grades / "ben.json", "--to", "vpl", "--out", "taken")


# --- what was asked


@pytest.fixture
def graded(grades: Path) -> Path:
    """A class graded with the course at hand: records of a version, of whom two have no score."""
    digest = course_digest(load_course(Path()))
    nothing = replace(CLASS[2], student="dora", reason="nothing was handed in")
    return write_folder(grades, [replace(each, course_digest=digest) for each in (*CLASS, nothing)])


def test_who_has_no_score_is_counted_and_named(graded: Path) -> None:
    (graded / "eve.json").unlink()
    done = export(graded, "--to", "vpl")
    assert done.stdout == ("7 file(s) written to exported/vpl. 1 student has no score: dora (nothing was handed in).\n")
    assert (done.exit_code, done.stderr) == (1, "")
    assert "Grade :=>>" not in Path("exported/vpl/dora.vpl.txt").read_text()
    assert "There is no score: nothing was handed in." in Path("exported/vpl/dora.vpl.txt").read_text()


def test_a_unit_that_the_records_do_not_cover_is_refused(graded: Path) -> None:
    """Defect 1: everybody got 0 for a unit that was never graded, and a part for one that was graded in part."""
    said = usage_error(graded, "--to", "vpl", "--unit", "09_norm")
    assert said == (
        f"{graded} has no results for 9 of the 9 exercises of 09_norm: grade the unit into a folder of its own: "
        f"handgrad grade SUBMISSIONS --unit 09_norm --out {graded}-09_norm"
    )
    assert "exercises of 04_linear" in usage_error(graded, "--to", "vpl", "--unit", "04_linear")
    assert not Path("exported").exists()


def test_a_unit_that_no_record_of_a_gradebook_has_is_refused(grades: Path) -> None:
    """They have no digest of the course; everybody got 0 of 0, and 0 in a sheet."""
    assert usage_error(grades, "--to", "vpl", "--unit", "09_norm") == (
        f"{grades} has no results for 09_norm: grade it first."
    )
    assert not Path("exported").exists()


def test_records_of_another_version_of_the_course_are_refused(graded: Path) -> None:
    """Defect 2: points that were edited in course.yaml scaled the scores of the records."""
    course = Path("course.yaml")
    course.write_text(course.read_text("utf-8").replace("points: 1", "points: 4"), encoding="utf-8")
    said = usage_error(graded, "--to", "vpl")
    assert said.startswith(f"{graded} was graded with another version of the course handgrad: grade the class again:")
    report = CliRunner().invoke(app, ["report", str(graded)])
    assert isinstance(report.exception, UsageError)
    assert str(report.exception) == said
    shutil.copytree(graded, "grades/w1")
    Path("class.yaml").write_text("assignments:\n  w1:\n    submissions: handed-in\n")
    assert usage_error("w1", "--to", "vpl").endswith("grade the class again: handgrad grade w1")


@pytest.mark.parametrize("command", [("export", "--to", "vpl"), ("report",)])
def test_records_of_two_runs_in_one_folder_are_refused(graded: Path, command: tuple[str, ...]) -> None:
    shorter = replace(CLASS[0], student="zoe", exercises=CLASS[0].exercises[:1], course_digest=CLASS[0].course_digest)
    (graded / "zoe.json").write_text(dumps(shorter))
    found = CliRunner().invoke(app, [command[0], str(graded), *command[1:]]).exception
    assert isinstance(found, UsageError)
    assert f"{graded}/zoe.json was graded with another version of the course, or for other exercises" in str(found)


@pytest.mark.parametrize("command", [("export", "--to", "vpl"), ("report",)])
def test_a_record_of_another_run_among_those_of_a_class_is_refused(graded: Path, command: tuple[str, ...]) -> None:
    """A record that was copied from another folder was exported with the others."""
    record = (graded / "ada.json").read_text()
    for student, seed in (("yan", "null"), ("zoe", "8")):
        copied = record.replace('"student": "ada"', f'"student": "{student}"').replace('"seed": 7', f'"seed": {seed}')
        assert copied.count(f'"seed": {seed}') == 1
        (graded / f"{student}.json").write_text(copied)
    (graded / "grades.csv").unlink(missing_ok=True)
    for file, is_refused in (("", False), ("grades.csv", True), (".grades-before", False)):
        if file:
            (graded / file).write_text("{}")
        found = CliRunner().invoke(app, [command[0], str(graded), *command[1:]]).exception
        says = f"{graded}/zoe.json was graded with another seed than the records before it, and so in another run: "
        assert str(found).startswith(says) == is_refused, "records that were made alone have seeds of their own"


# --- names


def test_no_name_depends_on_who_else_is_there(grades: Path) -> None:
    """Defects 11 and 25: `ada-2.feedback.html` was the page of ada, and a class of one had other names."""
    people = [replace(CLASS[0], student=name) for name in ("Ada", "ada", "ada-2")]
    for each in [*grades.glob("*.json")]:
        each.unlink()
    write_folder(grades, people)
    assert export(grades, "--to", "feedback").exit_code == 0
    for each in people:
        assert f"<bdi>{each.student}</bdi>" in Path(f"exported/feedback/{each.student}.feedback.html").read_text()
    index = Path("exported/feedback/index.csv").read_text("utf-8-sig").splitlines()
    assert index == ["student,file,platform", *(f"{n},{n}.feedback.html,feedback" for n in ("Ada", "ada", "ada-2"))]
    for gone in ("Ada", "ada"):
        (grades / f"{gone}.json").unlink()
    done = export(grades, "--to", "feedback")
    assert done.stderr == (
        "handgrad: No longer exported, and put away in exported/feedback/removed: Ada.feedback.html, "
        "ada.feedback.html.\n"
    )
    assert sorted(path.name for path in Path("exported/feedback").iterdir()) == [
        "ada-2.feedback.html", "index.csv", "removed",
    ]  # fmt: skip


def test_two_platforms_never_share_a_file(grades: Path) -> None:
    """Defect 26: both write `results.json`."""
    for platform in ("gradescope", "prairielearn"):
        export(grades, "--to", platform)
    shared = {path.read_bytes() for path in Path("exported").glob("*/ada.results.json")}
    assert len(shared) == 2
    said = usage_error(grades, "--to", "prairielearn", "--out", "exported/gradescope")
    assert said == "exported/gradescope holds the files for gradescope: name another folder with --out."
    Path("other").mkdir()
    Path("other/index.csv").write_text("a,b\n1,2\n")
    assert "an index.csv of something else" in usage_error(grades, "--to", "vpl", "--out", "other")


def test_one_name_never_stops_the_others(grades: Path) -> None:
    """Defect 24: a name of 60 letters of four bytes each ended the export."""
    strange = replace(CLASS[0], student="\U0001f600" * 60)
    path = result_file(grades, strange.student)
    path.write_text(dumps(strange))
    Path("exported/submitty/ben.validation_results.json").mkdir(parents=True)  # a file that cannot be replaced
    done = export(grades, "--to", "submitty")
    assert done.exit_code == 3
    assert done.stdout.startswith("7 file(s) written to exported/submitty.")
    assert "ben.validation_results.json cannot be written (Is a directory)" in done.stderr
    assert Path("exported/submitty", f"{path.name.removesuffix('.json')}.validation_results.json").is_file()


def test_a_single_record_has_the_platforms_name_and_no_index(grades: Path) -> None:
    export(grades / "ben.json", "--to", "vpl", "--out", "container")
    assert [path.name for path in Path("container").iterdir()] == ["vpl.txt"]

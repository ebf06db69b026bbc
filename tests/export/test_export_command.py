"""`handgrad export`: from a record or a folder of them to files, and what it says of those that are not complete."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.class_results import CLASS, write_folder
from helpers.platform_formats import CLASSROOM50, workflow_commands
from jsonschema import Draft202012Validator
from test_export import RUNNER
from test_export_sheets import MOODLE
from typer.testing import CliRunner, Result

from grader.cli.main import app
from grader.course.course import PACKAGE
from grader.errors import UsageError

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


def test_a_class_becomes_a_file_for_each_student(grades: Path) -> None:
    done = export(grades, "--to", "junit")
    assert sorted(path.name for path in Path("exported").iterdir()) == [f"{each.student}.junit.xml" for each in CLASS]
    assert done.exit_code == 3
    assert (
        done.stderr == "handgrad: eve, relu_grad inp.g: not graded (the worker is gone), so no points are exported.\n"
    )


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


def test_a_unit_alone_has_the_points_of_that_unit(grades: Path) -> None:
    done = export(grades / "ben.json", "--to", "vpl", "--unit", "01_slopes", "--out-of", "100", "--out", "-")
    assert "lin_grad" not in done.stdout
    assert float(done.stdout.rpartition(":=>>")[2]) == 100
    assert "There is no unit '99_none'" in usage_error(grades, "--to", "vpl", "--unit", "99_none")


def test_the_sheet_of_a_class_names_whoever_has_no_row(grades: Path) -> None:
    Path("sheet.csv").write_text(MOODLE, encoding="utf-8", newline="")
    (grades / "ada.json").write_text((grades / "ada.json").read_text().replace('"ada"', '"Ada Lovelace"'))
    done = export(grades, "--to", "moodle", "--fill", "sheet.csv")
    assert done.exit_code == 3
    assert "1 of 2 rows filled" in done.stderr
    assert "No row of their own was found for ben, cleo, dan, eve, finn and 1 more" in done.stderr
    assert "gone.csv cannot be read" in usage_error(grades, "--to", "moodle", "--fill", "gone.csv")


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

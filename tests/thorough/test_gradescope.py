"""Gradescope's autograder: a zip that grades a submission there as it does here, byte for byte."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from helpers.platform_formats import GRADESCOPE
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from grader.cli.main import app
from grader.course.course import PACKAGE, Course, load_course
from grader.errors import UsageError
from grader.export.graded_work import ExportOptions
from grader.export.gradescope import autograder, graded_submission, open_source, requirements, results_json

UNIT = "04_linear"
MEAN = """\
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g / len(inp)
    b.g = out.g.sum(0)
"""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def content() -> bytes:
    return autograder(load_course(PACKAGE.parent), [UNIT], "a secret")


@pytest.fixture
def container(content: bytes, tmp_path: Path) -> Path:
    """Gradescope's folder, as its documentation says, with a submission in it."""
    root = tmp_path / "autograder"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(root / "source")
    shutil.copy(root / "source" / "run_autograder", root / "run_autograder")
    (root / "submission").mkdir()
    (root / "submission" / "lin_grad.py").write_text(MEAN)
    return root


def run(container: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HANDGRAD_PYTHON": sys.executable}
    command = ["bash", str(container / "run_autograder")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def opened(container: Path) -> tuple[Course, bytes]:
    return open_source(container / "source")


def test_the_zip_holds_what_gradescope_asks_for_and_one_unit(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = set(archive.namelist())
        modes = {entry.filename: entry.external_attr >> 16 & 0o111 for entry in archive.infolist()}
        assert {"setup.sh", "run_autograder", "handgrad/__main__.py", "grader/results/result.schema.json"} <= names
        assert modes["setup.sh"] == modes["run_autograder"] == 0o111
        for script in ("setup.sh", "run_autograder"):
            assert subprocess.run(["bash", "-n"], input=archive.read(script), check=False).returncode == 0
        assert archive.read("requirements.txt").decode().split() == requirements()
    assert {name.split("/")[2] for name in names if name.startswith("course/solutions/")} == {UNIT}
    assert not any("__pycache__" in name or "bundled" in name or "exercises/" in name for name in names)
    assert len(content) < 5_000_000


def test_the_same_course_makes_the_same_zip(content: bytes) -> None:
    course = load_course(PACKAGE.parent)
    assert autograder(course, [UNIT], "a secret") == content
    assert autograder(course, [UNIT.partition("_")[0]], "a secret") == content
    assert autograder(course, [UNIT], "another") != content
    with pytest.raises(UsageError, match="There is no unit '99_none'"):
        autograder(course, ["99_none"], "")


def test_what_is_tried_here_is_what_gradescope_gets(container: Path, content: bytes, tmp_path: Path) -> None:
    done = run(container)
    assert (done.returncode, done.stdout) == (0, "")
    there = (container / "results" / "results.json").read_bytes()
    (tmp_path / "my-course.zip").write_bytes(content)
    command = [sys.executable, "-m", "handgrad", "gradescope", "my-course.zip", "--try", "autograder/submission"]
    here = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
                          capture_output=True, check=True)  # fmt: skip
    assert here.stdout == there
    found = json.loads(there)
    Draft202012Validator(GRADESCOPE).validate(found)
    assert {test["name"]: test["score"] for test in found["tests"]}.items() >= {
        "lin_grad w.g": 0,
        "lin_grad b.g": 1,
    }.items()
    assert found["score"] == 2


def test_a_failure_of_the_grader_gives_no_score(container: Path) -> None:
    (container / "source" / "course" / "solutions" / UNIT / "spec.py").write_text("broken(")
    done = run(container)
    assert done.returncode not in (0, 1)
    assert "spec.py" in done.stderr
    assert not (container / "results" / "results.json").exists()


def test_trials_come_from_the_submission_and_the_secret(container: Path, tmp_path: Path) -> None:
    """The same submission meets the same trials; nobody can aim at them, for a byte more changes them."""
    course, secret = opened(container)
    submission = container / "submission"
    first, again = (graded_submission(course, secret, submission, "none") for _ in range(2))
    assert first == again
    (submission / "lin_grad.py").write_text(f"{MEAN}#\n")
    said = {_evidence(graded_submission(course, each, submission, "none")) for each in (secret, b"another")}
    assert len(said | {_evidence(first)}) == 3


def _evidence(record: object) -> str:
    return str([answer.evidence for exercise in record.exercises for answer in exercise.answers])  # type: ignore[attr-defined]


def test_a_submission_of_pipes_and_links_is_graded_for_what_is_there(container: Path) -> None:
    course, secret = opened(container)
    submission = container / "submission"
    os.mkfifo(submission / "relu.py")
    (submission / "linear_grad.py").symlink_to(container / "source" / "course" / "solutions" / UNIT / "linear_grad.py")
    (submission / "loop").symlink_to(submission)
    record = graded_submission(course, secret, submission, "none")
    scores = {exercise.id: exercise.score for exercise in record.exercises}
    assert scores["lin_grad"] == 2
    assert scores.get("linear_grad", 0) == 0
    assert record.score == 2


def test_a_single_file_is_a_submission(container: Path) -> None:
    course, secret = opened(container)
    record = graded_submission(course, secret, container / "submission" / "lin_grad.py", "none")
    assert json.loads(results_json(course, record, ExportOptions())["results.json"])["score"] == 2


def test_what_is_no_autograder_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_text("no zip")
    for path, says in ((tmp_path / "x.zip", "is no autograder"), (tmp_path, "is no autograder")):
        found = CliRunner().invoke(app, ["gradescope", str(path), "--try", str(tmp_path)]).exception
        assert isinstance(found, UsageError)
        assert says in str(found)
    found = CliRunner().invoke(app, ["gradescope", str(tmp_path), "--unit", UNIT, "--try", "x"]).exception
    assert "name it without --try" in str(found)

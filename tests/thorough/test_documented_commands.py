"""The commands that the pages for instructors show, run in the order of each page in a small class."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from helpers import platforms
from helpers.commands import Typed
from helpers.courses import ROOT
from helpers.documented_commands import RUNS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_pool")]
UNIT = "04_linear"
COURSE = """\
course: small
title: One unit
units:
  - id: 04_linear
    title: A linear layer
    exercises:
      - {id: lin_grad, points: 3}
"""
STUDENTS = {"ada": platforms.RIGHT, "ben": platforms.MEAN, "student": platforms.MEAN}
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Linear layers (902)
    Points Possible,,,,,12.00
"Lovelace, Ada",11,S-1,ada,A,
"Franklin, Ben",12,S-2,ben,A,
"Dent, Stu",13,S-3,student,A,
"""
MOODLE = """\
Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Feedback comments
Participant 411,ada,ada@uni.edu,Submitted for grading,,12.00,Yes,
Participant 412,ben,ben@uni.edu,Submitted for grading,,12.00,Yes,
Participant 413,student,stu@uni.edu,Submitted for grading,,12.00,Yes,
"""
OUTSIDE = "/grade/results"
SAID = {
    'export grades/ --to canvas --fill gradebook.csv --column "Linear layers" --unit 04_linear': "3 of 3 rows filled",
    "export grades/ --to moodle --fill worksheet.csv --unit 04_linear": "3 of 3 rows filled",
    "export grades/ada.json --to vpl --out-of 100 --out -": "Grade :=>>100",
    "gradescope my-course.zip --try submissions/ada": '"score": 1',
}
"""A part of what a command prints, for some of them."""


@pytest.fixture
def school(tmp_path: Path, typed: Typed) -> Path:
    """The folder of a course and its class, which is graded already, into nbgrader's gradebook as well."""
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part / UNIT, tmp_path / part / UNIT, ignore=shutil.ignore_patterns("__pycache__"))
    files = {"course.yaml": COURSE, "gradebook.csv": CANVAS, "worksheet.csv": MOODLE}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for student, source in STUDENTS.items():
        platforms.put(tmp_path / "submissions" / student, {"lin_grad.py": source})
    shutil.copytree(tmp_path / "submissions", tmp_path / "my-class")
    done = typed("grade", "submissions/", "--workers", "1", "--gradebook", "sqlite:///gradebook.db", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


@pytest.mark.parametrize("page", RUNS)
def test_the_commands_of_a_page_do_what_it_says(page: str, school: Path, typed: Typed) -> None:
    for line, code, file in RUNS[page]:
        words = shlex.split(line.replace(OUTSIDE, "grade/results").replace("--seed N", "--seed 5"))
        words += ["--workers", "1"] if words[0] == "grade" else []
        (school / file).unlink(missing_ok=True) if file and file != "gradebook.db" else None
        done = typed(*words, cwd=school)
        assert done.returncode == code, (line, done.stdout, done.stderr)
        assert not file or (school / file).is_file(), line
        assert SAID.get(line, "") in done.stdout + done.stderr

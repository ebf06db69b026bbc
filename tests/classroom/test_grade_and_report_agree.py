"""The summary of a run and the report on its records count the same points, also of a quiz that nobody handed in."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from helpers import platforms
from helpers.commands import Typed
from helpers.courses import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_pool")]
UNIT = "04_linear"
COURSE = """\
course: small
title: A unit with a quiz in points
units:
  - id: 04_linear
    title: A linear layer
    exercises:
      - {id: lin_grad, points: 3}
    quiz: 2
"""


@pytest.mark.parametrize("quizzes", [[], ["ada"], ["ada", "ben"]], ids=["nobody", "one student", "everybody"])
def test_the_mean_of_two_students_is_their_median_out_of_the_same_points(
    quizzes: list[str], tmp_path: Path, typed: Typed
) -> None:
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part / UNIT, tmp_path / part / UNIT, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "course.yaml").write_text(COURSE, encoding="utf-8")
    sheet = (tmp_path / "exercises" / UNIT / "quiz.yaml").read_text("utf-8")
    for student, source in {"ada": platforms.RIGHT, "ben": platforms.MEAN}.items():
        files = {"lin_grad.py": source, **({f"{UNIT}/quiz.yaml": sheet} if student in quizzes else {})}
        platforms.put(tmp_path / "submissions" / student, files)
    graded = typed("grade", "submissions", "--out", "grades", "--workers", "1", cwd=tmp_path)
    mean, most = re.findall(r"Mean score (\S+) of ([\d.]+)\.", graded.stdout + graded.stderr)[0]
    median, reported = re.findall(r"median (\S+) of ([^,]+),", typed("report", "grades", cwd=tmp_path).stdout)[0]
    assert float(most) == float(reported) == 5.0
    assert float(mean) == pytest.approx(float(median), abs=0.005)

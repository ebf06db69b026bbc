"""A new exercise is whole from the first moment: it can be built and answered before a word of it is changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from helpers.corpus import read_page
from helpers.courses import ROOT
from helpers.grading import codes

from grader.authoring.build import stale_files
from grader.authoring.scaffold import add_exercise
from grader.course.course import Course, load_course
from grader.errors import UsageError
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker

COURSE = """\
# A comment that stays.
course: small
title: A small course
units:
  - id: 06_losses
    title: Losses
    exercises:
      - id: mse_grad
        points: 2        # two
{more}
  - id: 08_shapes   # the last
    title: Shapes
    exercises: [{{id: sum_grad}}]
"""


@pytest.fixture
def small(tmp_path: Path) -> Callable[[str], Course]:
    """`small(more)`: a course of two units, with more lines after its first exercise."""

    def made(more: str = "") -> Course:
        (tmp_path / "course.yaml").write_text(COURSE.format(more=more))
        for unit, name in (("06_losses", "mse_grad"), ("08_shapes", "sum_grad")):
            folder = tmp_path / "solutions" / unit
            folder.mkdir(parents=True)
            for file in (f"{name}.py", "spec.py"):
                shutil.copyfile(ROOT / "solutions" / unit / file, folder / file)
        return load_course(tmp_path)

    return made


@pytest.mark.parametrize(
    "more",
    ["", "        stretch: true", "      - {id: nll_grad}", "\n    # of the unit's quiz", "      - id: nll_grad"],
)
def test_its_line_stands_last_in_its_unit_and_all_else_is_as_it_was(more: str, small: Callable[..., Course]) -> None:
    course = small(more)
    shutil.copyfile(ROOT / "solutions/06_losses/nll_grad.py", course.solutions / "06_losses/nll_grad.py")
    before = (course.root / "course.yaml").read_text().splitlines()
    add_exercise(course, "square_grad", "06_losses")
    after = (course.root / "course.yaml").read_text().splitlines()
    assert [line for line in after if line not in ("      - id: square_grad", "        points: 1")] == before
    assert [each.id for each in load_course(course.root).exercises][-2:] == ["square_grad", "sum_grad"]
    assert yaml.safe_load("\n".join(after))["units"][0]["exercises"][-1] == {"id": "square_grad", "points": 1}


def test_it_can_be_answered_at_once(small: Callable[..., Course], worker: Worker) -> None:
    root = small().root
    written = add_exercise(load_course(root), "square_grad", "06_losses")
    course = load_course(root)
    exercise, grader = course.find("square_grad"), Grader(1)
    assert {path.relative_to(course.root).as_posix() for path in written} >= {
        "solutions/06_losses/spec.py", "solutions/06_losses/square_grad.py", "course.yaml",
        "tests/learners/06_losses/square_grad.py", "exercises/06_losses/square_grad.py",
    }  # fmt: skip
    assert stale_files(course) == []
    assert grader.grade(exercise, exercise.solution.read_bytes(), worker).status == "passed"
    assert grader.grade(exercise, exercise.path.read_bytes(), worker).status == "todo"
    for submission in read_page(course.root / "tests/learners/06_losses/square_grad.py"):
        assert submission.mismatches(codes(grader.grade(exercise, submission.source.encode(), worker))) == {}


@pytest.mark.parametrize(
    ("name", "unit", "says"),
    [
        ("mse_grad", "06_losses", "already"),
        ("square_grad", "99_none", "no unit of this course"),
        ("Square", "06_losses", "no name for a function"),
        ("lambda", "06_losses", "no name for a function"),
        ("a-b", "06_losses", "no name for a function"),
        ("square_grad", "08_shapes", "add square_grad to it by hand"),
    ],
)
def test_what_cannot_be_added_changes_nothing(name: str, unit: str, says: str, small: Callable[..., Course]) -> None:
    course = small()
    before = {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match=says):
        add_exercise(course, name, unit)
    assert {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()} == before

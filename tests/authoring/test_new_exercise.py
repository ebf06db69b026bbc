"""A new exercise is whole from the first moment: it can be built and answered before a word of it is changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from helpers.courses import ROOT
from helpers.grading import codes

from grader.authoring.audit import audit
from grader.authoring.build import stale_files
from grader.authoring.scaffold import add_exercise
from grader.authoring.submission_pages import read_page
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


@pytest.mark.parametrize(("unit", "place"), [("05_first", 0), ("07_middle", 1), ("09_last", 2)])
def test_a_unit_is_begun_where_its_number_belongs(
    unit: str, place: int, small: Callable[..., Course], worker: Worker
) -> None:
    course = small()
    before = (course.root / "course.yaml").read_text().splitlines()
    add_exercise(course, "square_grad", unit, quiz=True)
    after = (course.root / "course.yaml").read_text().splitlines()
    assert [line for line in before if line not in after] == []
    begun = load_course(course.root)
    assert begun.config.units[place].ids == ("square_grad", f"quiz_{unit}")
    assert begun.config.units[place].title == unit[3:].capitalize()
    findings = audit(begun, Grader(1), worker, exercises=begun.select([unit]))
    assert [finding for finding in findings if unit in finding.file] == []


@pytest.mark.parametrize("exercises", ["", "    exercises:\n", "    exercises: []\n", "    exercises: [] # none yet\n"])
def test_a_unit_without_exercises_is_filled(exercises: str, small: Callable[..., Course]) -> None:
    root = small().root
    with (root / "course.yaml").open("a") as listed:
        listed.write(f"  - id: 09_new\n    title: New\n{exercises}")
    add_exercise(load_course(root), "square_grad", "09_new")
    assert load_course(root).config.units[-1].ids == ("square_grad",)
    add_exercise(load_course(root), "cube_grad", "09_new")
    assert load_course(root).config.units[-1].ids == ("square_grad", "cube_grad")


def test_an_exercise_that_is_listed_alone_is_written(small: Callable[..., Course]) -> None:
    root = small("      - id: square_grad").root
    listed = (root / "course.yaml").read_text()
    add_exercise(load_course(root), "square_grad", "06_losses")
    assert (root / "course.yaml").read_text() == listed
    assert load_course(root).find("square_grad").path.is_file()


def test_a_quiz_is_added_to_a_unit_once(small: Callable[..., Course]) -> None:
    root = small().root
    add_exercise(load_course(root), "", "06_losses", quiz=True)
    assert load_course(root).config.units[0].quiz == 1
    assert "(quiz.yaml)" in (root / "exercises/06_losses/README.md").read_text()
    with pytest.raises(UsageError, match="has a quiz already"):
        add_exercise(load_course(root), "", "06_losses", quiz=True)


@pytest.mark.parametrize(
    ("name", "unit", "says"),
    [
        ("mse_grad", "06_losses", "already"),
        ("square_grad", "06_loses", "did you mean 06_losses"),
        ("square_grad", "robust", "A new unit has a number of its own: --unit 09_robust"),
        ("", "99_none", "name its first exercise"),
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

"""A course of an author's own: sound from the first moment, and taken by learners as an installed package."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader.authoring.audit import audit
from grader.authoring.scaffold import FIRST, new_course
from grader.cli.main import app
from grader.course.course import load_course
from grader.course.course_file import Policy
from grader.errors import CourseError, UsageError
from grader.judging.grading import Grader
from grader.learner import workspace
from grader.sandbox.worker import Worker

Installed = Callable[..., Path]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """`installed(name)`: a new course, and a package of this name with what its wheel holds."""

    def made(name: str = "my_own") -> Path:
        course = new_course(tmp_path / "my-own")
        for part in ("course.yaml", "exercises", "solutions"):
            to = tmp_path / "site" / name / part
            to.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (course.root / part).is_dir() else shutil.copyfile)(course.root / part, to)
        monkeypatch.syspath_prepend(tmp_path / "site")
        return course.root

    return made


def test_a_new_course_is_sound(tmp_path: Path, worker: Worker) -> None:
    course = new_course(tmp_path / "Gradients 2")
    assert audit(course, Grader(1), worker) == []
    assert (course.config.course, course.config.package) == ("gradients_2", "gradients_2")
    assert 'name = "gradients-2"' in (course.root / "pyproject.toml").read_text()


@pytest.mark.parametrize(("name", "package"), [("4ever", "course_4ever"), ("\u00e9t\u00e9", "t")])
def test_its_package_can_be_imported(name: str, package: str, tmp_path: Path) -> None:
    assert new_course(tmp_path / name).config.package == package


def test_a_learner_of_an_installed_course_has_no_solutions(
    installed: Installed, tmp_path: Path, worker: Worker
) -> None:
    author = installed()
    course = workspace.init(tmp_path / "learner", "my_own")
    assert not (course.root / "solutions").exists()
    assert course.solutions == tmp_path / "site/my_own/solutions"
    exercise = load_course(course.root).find(FIRST)
    assert Grader(1).grade(exercise, exercise.path.read_bytes(), worker).status == "todo"
    answer = (author / "solutions/01_first/square_grad.py").read_bytes()
    assert Grader(1).grade(exercise, answer, worker).status == "passed"


def test_a_course_whose_package_is_gone_says_so(installed: Installed, tmp_path: Path) -> None:
    installed()
    root = workspace.init(tmp_path / "learner", "my_own").root
    shutil.rmtree(tmp_path / "site")
    run = [sys.executable, "-m", "handgrad", "list"]
    done = subprocess.run(run, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "course.yaml, line 8: this course comes in the package my_own, which is not installed" in done.stderr
    with pytest.raises(CourseError, match="my_own"):
        load_course(root)


@pytest.mark.parametrize(
    ("package", "says"),
    [("nothing", "no course in a package nothing"), ("numpy", "no course in a package numpy"), (".", "no course")],
)
def test_a_package_without_a_course_is_named(package: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says):
        workspace.init(tmp_path / "learner", package)
    assert not (tmp_path / "learner").exists()


def test_a_course_under_another_name_than_its_own_is_refused(installed: Installed, tmp_path: Path) -> None:
    installed("another")
    with pytest.raises(UsageError, match="does not say `package: another`"):
        workspace.init(tmp_path / "learner", "another")


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(UsageError, match="already holds something"):
        new_course(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


@pytest.mark.parametrize("words", [[], ["here", "--course", "there"], ["--course", "there", "--from", "my_own"]])
def test_init_makes_one_folder(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["init", *words])
    assert isinstance(result.exception, UsageError)
    assert list(tmp_path.iterdir()) == []


def test_init_in_an_authors_folder_makes_a_learners_folder_of_that_course(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker: Worker
) -> None:
    author = new_course(tmp_path / "my-own")
    monkeypatch.chdir(author.root / "solutions")
    result = CliRunner().invoke(app, ["init", str(tmp_path / "learner")])
    assert f"the right answers from {author.root.as_posix()}" in result.output
    course = load_course(tmp_path / "learner")
    assert [exercise.id for exercise in course.exercises] == [FIRST]
    assert not (course.root / "solutions").exists()
    answer = (author.solutions / "01_first/square_grad.py").read_bytes()
    assert Grader(1).grade(course.find(FIRST), answer, worker).status == "passed"


def test_its_course_file_shows_every_field_that_a_unit_or_the_course_may_have(tmp_path: Path) -> None:
    text = (new_course(tmp_path / "my-own").root / "course.yaml").read_text("utf-8")
    commented = "\n".join(re.findall(r"^# (.*)$", text, re.MULTILINE))
    assert {"`points`", "`stretch: true`", "`quiz: 1`"} <= set(re.findall(r"`[^`]+`", commented))
    policy = re.search(r"^policy: (\{.*\})", commented, re.MULTILINE)
    assert policy
    (tmp_path / "my-own" / "course.yaml").write_text(f"{text}policy: {policy[1]}\n", encoding="utf-8")
    assert load_course(tmp_path / "my-own").policy == Policy()

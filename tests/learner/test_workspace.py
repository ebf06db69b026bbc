"""A learner's folder: everything needed to start, no solutions, and nothing of the learner's is ever lost."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import INSTALL, SOURCE
from grader.authoring import build
from grader.course.course import Course, bundled_folder, load_course
from grader.errors import InfrastructureError, UsageError
from grader.files import write_atomically
from grader.learner import workspace
from grader.quiz.answer_sheet import variant_of


@pytest.fixture
def course(tmp_path: Path, new_workspace: Callable[..., Course]) -> Course:
    return new_workspace(tmp_path / "ws", before="07_network")


@pytest.fixture
def whole(tmp_path: Path, new_workspace: Callable[..., Course]) -> Course:
    return new_workspace(tmp_path / "ws")


def test_a_new_workspace_holds_every_stub_and_lesson_and_no_solution(whole: Course) -> None:
    files = {str(path.relative_to(whole.root)) for path in whole.root.rglob("*") if path.is_file()}
    lessons = {f"exercises/{unit.id}/README.md" for unit in whole.config.units}
    source = bundled_folder()
    pictures = {path.relative_to(source).as_posix() for path in source.glob("exercises/*/*.svg")}
    stubs = {exercise.file for exercise in whole.exercises}
    assert files == {"course.yaml", *workspace.FILES, *lessons, *pictures, *stubs}
    assert pictures
    assert not any("BEGIN SOLUTION" in (whole.root / stub).read_text() for stub in stubs)


def test_editors_containers_and_uv_find_what_they_need(course: Course) -> None:
    settings = json.loads((course.root / ".vscode/settings.json").read_text())
    assert settings["python.testing.pytestArgs"] == ["exercises"]
    container = json.loads((course.root / ".devcontainer/devcontainer.json").read_text())
    assert container["postCreateCommand"].startswith(f"{INSTALL} ")
    project = tomllib.loads((course.root / "pyproject.toml").read_text())
    assert "handgrad" in project["project"]["dependencies"]
    (index,) = project["tool"]["uv"]["index"]
    assert project["tool"]["uv"]["sources"]["torch"] == {"index": index["name"]}
    assert project["tool"]["uv"]["sources"]["handgrad"] == {"path": SOURCE}
    assert project["tool"]["pytest"]["ini_options"]["testpaths"] == ["exercises"]


def test_a_new_workspace_is_the_bundled_course(whole: Course) -> None:
    source = load_course(bundled_folder())
    assert whole.config == source.config
    assert whole.solutions == source.solutions
    for exercise in source.exercises:
        text = (whole.root / exercise.file).read_text()
        assert text == build.stub(exercise, variant_of(whole.root / exercise.file))
        assert exercise.is_quiz == ("variant: " in text)


def test_every_workspace_has_variants_of_its_own(whole: Course, tmp_path: Path) -> None:
    other = workspace.init(tmp_path / "other")
    first, second = ([variant_of(e.path) for e in one.exercises if e.is_quiz] for one in (whole, other))
    assert first != second
    assert all(0 < variant <= workspace.VARIANTS for variant in (*first, *second))


def test_a_reset_answer_sheet_keeps_its_variant(course: Course) -> None:
    exercise = course.find("quiz_04_linear")
    exercise.path.write_text("variant: 17\nwhat_is_g: grad\n")
    backup = workspace.reset(exercise)
    assert backup is not None
    assert backup.read_text() == "variant: 17\nwhat_is_g: grad\n"
    assert exercise.path.read_text() == build.stub(exercise, 17)


def test_parents_are_made_and_an_empty_folder_will_do(tmp_path: Path) -> None:
    assert workspace.init(tmp_path / "a/b").root == tmp_path / "a/b"
    (tmp_path / "empty").mkdir()
    assert workspace.init(tmp_path / "empty").exercises


@pytest.mark.parametrize("name", ["notes.txt", ".git"])
def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match="name a new folder"):
        workspace.init(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_of_that_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "course").write_text("mine")
    with pytest.raises(UsageError, match="name a new folder"):
        workspace.init(tmp_path / "course")


def test_reset_puts_the_stub_back_and_keeps_what_was_there(course: Course) -> None:
    exercise = course.find("slope")
    stub = exercise.path.read_text()
    exercise.path.write_text("mine")
    backup = workspace.reset(exercise)
    assert exercise.path.read_text() == stub
    assert backup == course.root / ".handgrad/backups/01_slopes/slope-1.py"
    assert backup.read_text() == "mine"


def test_every_reset_has_a_backup_of_its_own(course: Course) -> None:
    exercise = course.find("slope")
    for number in (1, 2, 3):
        exercise.path.write_text(f"attempt {number}")
        workspace.reset(exercise)
    folder = course.root / ".handgrad/backups/01_slopes"
    assert [(folder / f"slope-{n}.py").read_text() for n in (1, 2, 3)] == ["attempt 1", "attempt 2", "attempt 3"]


def test_a_backup_keeps_the_bytes_of_a_file_that_is_no_text(course: Course) -> None:
    exercise = course.find("slope")
    exercise.path.write_bytes(b"\xff\x00\r\n")
    backup = workspace.reset(exercise)
    assert backup is not None
    assert backup.read_bytes() == b"\xff\x00\r\n"


def test_a_stub_and_even_a_unit_that_was_deleted_comes_back_without_a_backup(course: Course) -> None:
    exercise = course.find("mse_grad")
    shutil.rmtree(exercise.path.parent)
    assert workspace.reset(exercise) is None
    assert exercise.path.read_text() == build.stub(exercise)


def test_a_reset_that_cannot_write_changes_nothing_and_leaves_no_litter(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = course.find("slope")
    exercise.path.write_text("mine")
    there = set(exercise.path.parent.iterdir())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(InfrastructureError, match=r"No space left on device.: make room"):
            workspace.reset(exercise)
    assert exercise.path.read_text() == "mine"
    assert set(exercise.path.parent.iterdir()) == there


def test_a_folder_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InfrastructureError, match=r"ws cannot be made .Not a directory.: put that right"):
        workspace.init(tmp_path / "file" / "ws")


def test_a_folder_that_is_a_course_already_is_told_to_go_there(course: Course) -> None:
    with pytest.raises(UsageError, match="is a course already: go there"):
        workspace.init(course.root)
    assert load_course(course.root).exercises


def test_a_folder_in_place_of_the_file_is_named_with_what_to_do(course: Course) -> None:
    exercise = course.find("slope")
    exercise.path.unlink()
    exercise.path.mkdir()
    with pytest.raises(InfrastructureError, match="is a folder") as caught:
        workspace.reset(exercise)
    assert "slope.py" in str(caught.value)
    assert "make its folder writable" not in str(caught.value)


def test_a_file_is_written_whole_readable_by_all_and_over_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file.txt"
    write_atomically(file, "é\n".encode())
    write_atomically(file, "ü\n".encode())
    assert file.read_bytes() == "ü\n".encode()
    assert file.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in file.parent.iterdir()] == ["file.txt"]


def test_nobody_makes_a_course_inside_their_course(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are most likely in it already, and are told so."""
    monkeypatch.chdir(course.root)
    for target in (Path("."), Path("my-course"), Path("exercises/01_slopes/new")):
        with pytest.raises(UsageError, match="and you are in it: type handgrad to go on"):
            workspace.init(target)
    monkeypatch.chdir(course.root / "exercises")
    with pytest.raises(UsageError, match=r"go there and type handgrad.*a folder outside of it"):
        workspace.init(Path("my-course"))


def test_quizzes_of_two_units_have_backups_that_can_be_told_apart(course: Course) -> None:
    kept = [workspace.reset(course.find(f"quiz_{unit}")) for unit in ("01_slopes", "04_linear")]
    folder = course.root / ".handgrad/backups"
    assert kept == [folder / "01_slopes/quiz-1.yaml", folder / "04_linear/quiz-1.yaml"]

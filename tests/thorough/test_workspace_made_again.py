"""A workspace that could not be made leaves nothing behind, and can be made again."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from grader.course.course import bundled_folder
from grader.errors import InfrastructureError
from grader.learner import workspace


@pytest.mark.parametrize("was_there", [True, False])
def test_a_workspace_that_cannot_be_made_leaves_nothing_and_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_there: bool
) -> None:
    target = tmp_path / "ws"
    if was_there:
        target.mkdir()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/somewhere/else/README.md")

    with monkeypatch.context() as patch:
        patch.setattr(workspace, "new_variant", full)
        with pytest.raises(InfrastructureError, match=r"ws cannot be made .No space left on device.: make room"):
            workspace.init(target)
    assert (target.exists(), [*tmp_path.rglob("*.md")]) == (was_there, [])
    assert workspace.init(target).exercises


def test_beside_its_solutions_a_course_is_no_learners_and_one_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the README has it: in the folder that was cloned."""
    (tmp_path / "solutions").mkdir()
    shutil.copyfile(bundled_folder() / "course.yaml", tmp_path / "course.yaml")
    monkeypatch.chdir(tmp_path)
    assert workspace.init(Path("my-course")).root == tmp_path / "my-course"

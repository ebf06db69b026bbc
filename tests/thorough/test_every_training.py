"""Each training reaches its goal with the worked solutions' gradients, and with no wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.trainings import WRONG, trained

from grader.course.course import Course
from grader.sandbox.worker import Worker


@pytest.mark.parametrize("unit", WRONG)
def test_the_goal_is_reached_with_the_gradients_of_the_solutions(
    unit: str, tmp_path: Path, new_workspace: Callable[..., Course], worker: Worker
) -> None:
    found = trained(new_workspace(tmp_path / "ws"), unit, worker)
    assert (found.why, found.first_difference, found.is_goal_reached) == ("", None, True)
    assert found.torchs.last <= found.model.goal


@pytest.mark.parametrize(("unit", "wrong"), [(unit, wrong) for unit in WRONG for wrong in WRONG[unit]])
def test_the_goal_is_not_reached_with_a_wrong_gradient(
    unit: str, wrong: tuple[str, str, str], tmp_path: Path, new_workspace: Callable[..., Course], worker: Worker
) -> None:
    found = trained(new_workspace(tmp_path / "ws"), unit, worker, wrong)
    assert not found.is_goal_reached
    assert found.first_difference is not None
    assert found.torchs.last <= found.model.goal

"""Slips in difference quotients: each gives other numbers than the right one, and none is offered elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from grader.diagnosis.quotients import Quotient, candidates
from grader.reference.trial import IMPOSSIBLE, Candidate, Trial
from grader.trial_sizes import Setting


def cube(x: float) -> float:
    return x**3


def cubes(x: torch.Tensor) -> torch.Tensor:
    return (x**3).sum() + x.sum() ** 2


def trial(x: object, f: object, right: object, h: float = 0.2) -> Trial:
    inputs = {"f": f, "x": x, "h": h}
    return Trial(Setting(0, "one", {}), inputs, {"return": np.asarray(right, dtype="float64")}, inputs)


def named(trial: Trial, values: object) -> set[str]:
    """The codes of all candidates that give these values."""
    return {one.code for one in candidates(trial) if np.allclose(_computed(one, trial), np.asarray(values))}


def _computed(one: Candidate, trial: Trial) -> np.ndarray:
    try:
        return one.compute(trial)
    except IMPOSSIBLE:
        return np.array(np.nan)


AHEAD = trial(0.7, cube, (0.9**3 - 0.7**3) / 0.2)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ((0.9**3 - 0.5**3) / 0.4, "wrong-point"),
        ((0.9**3 + 0.7**3) / 0.2, "wrong-sign"),
        ((0.9**3 - 0.7**3) / 0.9, "wrong-operand"),
        ((0.9**3 - 0.2**3) / 0.2, "wrong-point"),
        ((0.9**3 - 2 * 0.7**3 + 0.5**3) / 0.04, "wrong-local"),
        ((1.7**3 - 0.7**3) / 1.0, "hard-coded"),
        (0.7**3, "forward-value"),
        ((0.2**3 - 0.7**3) / 0.2, "wrong-point"),
    ],
)
def test_a_slip_is_named(value: float, code: str) -> None:
    assert code in named(AHEAD, value)


def test_a_step_that_is_never_set_back_moves_all_entries_before() -> None:
    x, h = torch.tensor([1.0, -0.5, 2.0], dtype=torch.float64), 0.1
    one = Quotient(cubes, x, None, h, 1, -1)
    entries = one.rise(1, -1) / one.run
    moved = torch.tensor([h, h, 0.0], dtype=torch.float64)
    second = float(cubes(x + moved) - cubes(x - moved)) / (2 * h)
    given = trial(x, cubes, entries, h)
    found = [_computed(c, given) for c in candidates(given) if "never set back" in c.says]
    assert len(found) == 1
    assert found[0][1] == pytest.approx(second)
    assert found[0][0] == pytest.approx(entries[0])


def test_weights_that_are_multiplied_in_once_more_are_an_extra_factor() -> None:
    x, v, h = torch.tensor([1.0, -0.5], dtype=torch.float64), torch.tensor([2.0, 3.0], dtype=torch.float64), 0.1
    entries = Quotient(lambda x: x**2, x, v, h, 1, -1).rise(1, -1) / (2 * h)
    inputs = {"f": lambda x: x**2, "x": x, "v": v, "h": h}
    given = Trial(Setting(0, "one", {}), inputs, {"return": entries}, inputs)
    assert named(given, entries * v.numpy()) == {"extra-factor"}


def test_what_is_no_difference_quotient_has_no_such_slips() -> None:
    assert list(candidates(trial(0.7, cube, 5.0))) == []
    assert list(candidates(trial("x", cube, 5.0))) == []

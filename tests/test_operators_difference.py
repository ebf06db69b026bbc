"""Slips in gradients that are known by their form, belief less truth, and in difference quotients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from verdicts import Rule, named, told, verdict

from grader.diagnosis.difference import difference_choices, quotient_choices
from grader.diagnosis.operator import Edit
from grader.exercise import Answer, Exercise, stored
from grader.reference.answer_view import End
from grader.reference.difference_quotient import Quotient
from grader.reference.operation_recorder import record
from grader.reference.trial import IMPOSSIBLE, Trial
from grader.sampling import indices, normal, uniform
from grader.trial_sizes import Setting


def two_classes(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    p = x.sigmoid()
    return -(t * p.log() + (1 - t) * (1 - p).log()).mean()


def classes(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    return (x.logsumexp(-1) - x[range(len(t)), t]).mean()


ROWS = {"x": normal("bs c"), "t": indices("bs", "c")}
TWO = Exercise("two classes", two_classes, {"x": normal("bs"), "t": uniform("bs", 0.0, 1.0)}, stored("x.g"))
MANY = Exercise("classes", classes, ROWS, stored("x.g"))
PICKED = Exercise("picked", lambda x, t: -x[range(len(t)), t].sum(), ROWS, stored("x.g"))
CUBED = Exercise("cubes", lambda x, t: ((x - t) ** 3).sum(), {"x": normal("n"), "t": normal("n")}, stored("x.g"))


def marks(v: dict[str, Any]) -> torch.Tensor:
    return torch.zeros_like(v["x"]).scatter(1, v["t"].unsqueeze(-1), 1.0)


def share(v: dict[str, Any]) -> torch.Tensor:
    return v["x"].softmax(-1)


def curve(v: dict[str, Any]) -> torch.Tensor:
    return v["x"].sigmoid()


@pytest.mark.parametrize(
    ("exercise", "rule", "name", "there"),
    [
        (TWO, lambda v: curve(v) + v["t"], "wrong-sign: truth-added", ""),
        (TWO, lambda v: curve(v) - v["t"].sigmoid(), "wrong-operand: function-of-truth", ""),
        (TWO, lambda v: (v["x"] > 0) * 1.0 - v["t"], "wrong-local: belief-decided", ""),
        (TWO, lambda v: v["x"].tanh() - v["t"], "wrong-local: another-function-of-variable", "tanh"),
        (TWO, lambda v: 2 * (curve(v) - v["t"]) * curve(v) * (1 - curve(v)),
         "wrong-local: squared-error-behind-function", ""),
        (MANY, lambda v: share(v) * (share(v) - marks(v)), "extra-factor: times-belief", ""),
        (MANY, lambda v: share(v) - v["t"].unsqueeze(1), "wrong-operand: numbers-for-marks", ""),
        (MANY, lambda v: marks(v) * (share(v) - 1), "diagonal-only: only-marked-entries", ""),
        (MANY, lambda v: -marks(v) / share(v), "missing-local: gradient-of-belief", ""),
        (MANY, lambda v: v["x"].tanh() - marks(v), "wrong-local: another-function-of-variable", "tanh"),
        (PICKED, lambda v: (share(v) - marks(v)) * len(v["x"]), "wrong-local: function-beside-truth",
         "softmax along the last axis"),
    ],
)  # fmt: skip
def test_a_slip_in_belief_less_truth_is_named(exercise: Exercise, rule: Rule, name: str, there: str) -> None:
    count = len if exercise is not TWO else torch.numel

    def divided(v: dict[str, Any]) -> Any:
        return rule(v) / count(v["x"])

    assert named(exercise, divided) == name
    assert told(verdict(exercise, divided)).get("there", "") == there


def test_nothing_is_claimed_where_the_gradient_has_another_form() -> None:
    x, t = torch.randn(4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    trace = record(CUBED.forward, {"x": x, "t": t}, torch.ones((), dtype=torch.float64))
    assert list(difference_choices(trace, "x")) == []
    assert named(CUBED, lambda v: v["x"].tanh() - v["t"]) == "unknown: unknown"


# --- difference quotients ----------------------------------------------------------------------------------------


def cube(x: float) -> float:
    return x**3


def cubes(x: torch.Tensor) -> torch.Tensor:
    return (x**3).sum() + x.sum() ** 2


def trial(x: object, f: object, right: object, h: float = 0.2, **more: object) -> Trial:
    inputs = {"f": f, "x": x, **more, "h": h}
    return Trial(Setting(0, "one", {}), inputs, {"return": np.asarray(right, dtype="float64")}, inputs)


def slips(trial: Trial) -> dict[Edit, np.ndarray]:
    """What each slip gives."""
    found = {}
    for operator, chosen, spoken in quotient_choices(trial):
        try:
            value = operator.rule(End(Answer("return", "", "value"), trial), **chosen)
        except IMPOSSIBLE:
            continue
        found[Edit(operator, None, chosen, spoken)] = value
    return found


def names(trial: Trial, values: object) -> set[str]:
    """All slips that give these values."""
    every = slips(trial).items()
    return {f"{e.code}: {e.operator.name}" for e, found in every if np.allclose(found, np.asarray(values))}


AHEAD = trial(0.7, cube, (0.9**3 - 0.7**3) / 0.2)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ((0.9**3 - 0.5**3) / 0.4, "wrong-point: function-at-other-places"),
        ((0.9**3 + 0.7**3) / 0.2, "wrong-sign: heights-added"),
        ((0.9**3 - 0.7**3) / 0.9, "wrong-operand: divided-by-x-and-h"),
        ((0.9**3 - 0.2**3) / 0.2, "wrong-point: second-at-h"),
        ((0.9**3 - 2 * 0.7**3 + 0.5**3) / 0.04, "wrong-local: change-of-slope"),
        ((1.7**3 - 0.7**3) / 1.0, "hard-coded: own-step"),
        (0.7**3, "forward-value: function-itself"),
        ((0.2**3 - 0.7**3) / 0.2, "wrong-point: first-at-h"),
    ],
)
def test_a_slip_in_a_quotient_is_named(value: float, name: str) -> None:
    assert name in names(AHEAD, value)


def test_a_step_that_is_never_set_back_moves_all_entries_before() -> None:
    x, h = torch.tensor([1.0, -0.5, 2.0], dtype=torch.float64), 0.1
    one = Quotient(cubes, x, None, h, 1, -1)
    entries = one.rise(1, -1) / one.run
    moved = torch.tensor([h, h, 0.0], dtype=torch.float64)
    second = float(cubes(x + moved) - cubes(x - moved)) / (2 * h)
    every = slips(trial(x, cubes, entries, h)).items()
    (found,) = (value for edit, value in every if edit.operator.name == "step-never-set-back")
    assert found[1] == pytest.approx(second)
    assert found[0] == pytest.approx(entries[0])


def test_weights_that_are_multiplied_in_once_more_are_an_extra_factor() -> None:
    x, v, h = torch.tensor([1.0, -0.5], dtype=torch.float64), torch.tensor([2.0, 3.0], dtype=torch.float64), 0.1
    entries = Quotient(lambda x: x**2, x, v, h, 1, -1).rise(1, -1) / (2 * h)
    given = trial(x, lambda x: x**2, entries, h, v=v)
    assert names(given, entries * v.numpy()) == {"extra-factor: weighted-twice"}


@pytest.mark.parametrize("x", [0.7, "x"])
def test_what_is_no_difference_quotient_has_no_such_slips(x: object) -> None:
    assert slips(trial(x, cube, 5.0)) == {}

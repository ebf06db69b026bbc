"""Slips in a gradient that is known by its form, belief less truth, and not worked out step by step."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_graph_faults import Rule, verdict

from grader.diagnosis.difference_form import difference_slips
from grader.exercise import Exercise, stored
from grader.reference.operation_recorder import record
from grader.sampling import indices, normal, uniform


def two_classes(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    p = x.sigmoid()
    return -(t * p.log() + (1 - t) * (1 - p).log()).mean()


def classes(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    return (x.logsumexp(-1) - x[range(len(t)), t]).mean()


TWO = Exercise("two classes", two_classes, {"x": normal("bs"), "t": uniform("bs", 0.0, 1.0)}, stored("x.g"))
MANY = Exercise("classes", classes, {"x": normal("bs c"), "t": indices("bs", "c")}, stored("x.g"))
PICKED = Exercise(
    "picked", lambda x, t: -x[range(len(t)), t].sum(), {"x": normal("bs c"), "t": indices("bs", "c")}, stored("x.g")
)
CUBED = Exercise("cubes", lambda x, t: ((x - t) ** 3).sum(), {"x": normal("n"), "t": normal("n")}, stored("x.g"))


def marks(v: dict[str, Any]) -> torch.Tensor:
    return torch.zeros_like(v["x"]).scatter(1, v["t"].unsqueeze(-1), 1.0)


def share(v: dict[str, Any]) -> torch.Tensor:
    return v["x"].softmax(-1)


def curve(v: dict[str, Any]) -> torch.Tensor:
    return v["x"].sigmoid()


@pytest.mark.parametrize(
    ("exercise", "rule", "code", "says"),
    [
        (TWO, lambda v: curve(v) + v["t"], "wrong-sign", "t is added where it must be subtracted"),
        (TWO, lambda v: v["x"] - v["t"], "wrong-point", "x stands where the result of `sigmoid` belongs"),
        (TWO, lambda v: curve(v) - v["t"].sigmoid(), "wrong-operand", "`sigmoid` is taken of t, too"),
        (TWO, lambda v: (v["x"] > 0) * 1.0 - v["t"], "wrong-local", "is made a decision, 0 or 1"),
        (TWO, lambda v: v["x"].tanh() - v["t"], "wrong-local", "tanh of x stands where"),
        (TWO, lambda v: 2 * (curve(v) - v["t"]) * curve(v) * (1 - curve(v)), "wrong-local", "a squared error behind"),
        (MANY, lambda v: share(v) * (share(v) - marks(v)), "extra-factor", "by the softmax of x once more"),
        (MANY, lambda v: share(v) - v["t"].unsqueeze(1), "wrong-operand", "the numbers themselves"),
        (MANY, lambda v: marks(v) * (share(v) - 1), "diagonal-only", "that the one-hot of t marks"),
        (MANY, lambda v: -marks(v) / share(v), "missing-local", "reacts to the softmax of x, not to x"),
        (MANY, lambda v: v["x"].tanh() - marks(v), "wrong-local", "tanh of x stands where the softmax of x belongs"),
        (PICKED, lambda v: (share(v) - marks(v)) * len(v["x"]), "wrong-local", "a softmax along the last axis of x"),
    ],
)
def test_a_slip_in_belief_less_truth_is_named(exercise: Exercise, rule: Rule, code: str, says: str) -> None:
    count = len if exercise is not TWO else torch.numel
    said = verdict(exercise, lambda v: rule(v) / count(v["x"]))
    assert said.code == code
    assert says in said.says


def test_nothing_is_claimed_where_the_gradient_has_another_form() -> None:
    x, t = torch.randn(4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    trace = record(CUBED.forward, {"x": x, "t": t}, torch.ones((), dtype=torch.float64))
    assert list(difference_slips(trace, "x")) == []
    assert verdict(CUBED, lambda v: v["x"].tanh() - v["t"]).code == "unknown"

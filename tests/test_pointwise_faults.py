"""Slips in operations that work entry by entry, and which operations these are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from test_graph_faults import Rule, every_candidate, verdict

from grader.diagnosis.pointwise_faults import is_pointwise
from grader.exercise import Exercise, returned, stored
from grader.reference.operation_recorder import record
from grader.reference.references import make_trials
from grader.sampling import away_from, normal, number, output


@pytest.mark.parametrize(
    ("forward", "pointwise"),
    [
        (lambda x: x.exp(), True),
        (lambda x: x.clamp(-1, 1), True),
        (lambda x: x + torch.ones(2, 3, 4, dtype=x.dtype), True),
        (lambda x: x.softmax(-1), False),
        (lambda x: x.cumsum(0), False),
        (lambda x: x.flip(0), False),
        (lambda x: x.sort().values, False),
    ],
)
def test_an_operation_that_mixes_entries_is_not_pointwise(forward: Callable[[Any], Any], pointwise: bool) -> None:
    """A shape that stays the same proves nothing: what counts is which entries an entry depends on."""
    x = torch.tensor([[0.3, -1.2, 0.7, 2.0], [1.1, 0.2, -0.4, 0.9], [-0.8, 0.5, 1.6, -2.0]], dtype=torch.float64)
    (step,) = (step for step in record(forward, {"x": x}, torch.ones_like(forward(x))).steps if step.operands)
    assert is_pointwise(step, (0,)) is pointwise


CLAMP = Exercise(
    "clamp", lambda x: x.clamp(-0.5, 1.0), {"x": away_from((-0.5, 1.0), "n m"), "out": output()}, stored("x.g")
)
BOUNDS = Exercise("clamp", lambda x: x.clamp(min=-0.5, max=1.0), CLAMP.inputs, CLAMP.answers)
RELU = Exercise("relu", lambda x: x.clamp_min(0), {"x": away_from(0.0, "n m"), "out": output()}, stored("x.g"))
GELU = Exercise("erf", lambda x: x.erf(), {"x": normal("n m"), "out": output()}, stored("x.g"))
THIRD_POWER = Exercise("a third power", lambda x: x**3, {"x": normal("n m"), "out": output()}, stored("x.g"))
TANH = Exercise("tanh", lambda x: x.tanh(), {"x": normal("n m"), "out": output()}, stored("x.g"))
LEFT = Exercise("2 - 3x, summed", lambda x: (2 - 3 * x).sum(), {"x": normal("n m")}, returned("x"))
SCALED = Exercise(
    "x / (1 - q)", lambda x, q: x / (1 - q), {"x": normal("n m"), "out": output(), "q": number(0.1, 0.4)}, stored("x.g")
)
CUBE = Exercise("x**2, summed", lambda x: (x**2).sum(), {"x": normal("n m")}, returned("x"))


@pytest.mark.parametrize(
    ("exercise", "rule", "code", "says"),
    [
        (CLAMP, lambda v: (v["x"] > -0.5) * v["out_g"], "wrong-local", "only the lower edge"),
        (BOUNDS, lambda v: (v["x"] < 1.0) * v["out_g"], "wrong-local", "only the upper edge"),
        (CLAMP, lambda v: v["out_g"].clamp(-0.5, 1.0), "wrong-local", "is applied to the gradient"),
        (TANH, lambda v: v["out_g"].tanh(), "wrong-local", "is applied to the gradient"),
        (RELU, lambda v: v["x"].sign() * v["out_g"], "wrong-local", "closed entries pass the gradient with a minus"),
        (GELU, lambda v: (-v["x"] ** 2).exp() * v["out_g"], "missing-local", "the 2 / sqrt(pi)"),
        (LEFT, lambda v: 3 * torch.ones_like(v["x"]), "hard-coded", "every entry is 3"),
        (SCALED, lambda v: v["out_g"] * (1 - v["q"]), "wrong-factor", "divided by the derivative of `/ (1 - q)`"),
        (TANH, lambda v: v["out_g"] / (1 - v["out"] ** 2), "wrong-local", "divided by the derivative of `tanh`"),
        (CUBE, lambda v: 2 * v["x"].sign(), "wrong-local", "only the sign is left"),
        (CUBE, lambda v: 2 * v["x"] ** 2, "wrong-local", "the exponent is not lowered"),
    ],
)  # fmt: skip
def test_each_slip_has_its_code_and_its_sentence(exercise: Exercise, rule: Rule, code: str, says: str) -> None:
    said = verdict(exercise, rule)
    assert said.code == code
    assert says in said.says


def test_a_minus_that_is_left_out_is_a_wrong_sign() -> None:
    """`2 - x` before a square: the rest of the chain is right."""
    forward = Exercise("(2 - x)**2", lambda x: (2 - x) ** 2, {"x": normal("n m"), "out": output()}, stored("x.g"))
    assert verdict(forward, lambda v: v["out_g"] * 2 * (2 - v["x"])).code == "wrong-sign"
    trial = make_trials(forward, np.random.default_rng(0))[0]
    says = [candidate.says for candidate in every_candidate(forward, forward.answers[0], trial)]
    assert "the minus of `2 -` is left out" in says
    assert "the derivative of `2 -` is left out" not in says


@pytest.mark.parametrize(
    "rule",
    [
        lambda v: 3 * v["x"] ** 3 - v["out_g"],
        lambda v: v["out_g"] * 3 * v["x"] ** 3 - 1,
        lambda v: v["out_g"] * (3 * v["x"] ** 3 - 1),
    ],
)
def test_an_exponent_without_its_brackets_is_named(rule: Rule) -> None:
    said = verdict(THIRD_POWER, rule)
    assert said.code == "wrong-local"
    assert "needs brackets" in said.says


def test_a_gradient_that_is_added_to_the_derivative_is_named() -> None:
    said = verdict(TANH, lambda v: v["out_g"] + 1 - v["out"] ** 2)
    assert said.code == "wrong-local"
    assert "are added, where they must be multiplied" in said.says

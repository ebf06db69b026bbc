"""Gradients that are right for another forward pass: an input or a constant left out, a shape not brought in line."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_graph_faults import Rule, verdict

from grader.exercise import Exercise, stored
from grader.sampling import away_from, indices, normal

LOSS = Exercise(
    "a squared error behind a product",
    lambda x, t, s: ((x * s - t) ** 2).sum(),
    {"x": normal("n"), "t": normal("n"), "s": normal("n")},
    stored("x.g"),
)
PICKED = Exercise(
    "picked",
    lambda x, t: x.tanh()[range(len(t)), t].sum(),
    {"x": normal("bs c"), "t": indices("bs", "c")},
    stored("x.g"),
)

NETWORK = Exercise(
    "two layers",
    lambda x, w, b, v, c: ((x @ w + b).tanh() @ v + c).square().mean(),
    {"x": normal("bs n"), "w": normal("n h"), "b": normal("h"), "v": normal("h m"), "c": normal("m")},
    stored("x.g"),
)


def without_biases(v: dict[str, Any]) -> torch.Tensor:
    hidden = (v["x"] @ v["w"]).tanh()
    out = hidden @ v["v"]
    return (2 * out / out.numel() @ v["v"].T * (1 - hidden**2)) @ v["w"].T


@pytest.mark.parametrize(
    ("exercise", "rule", "code", "says"),
    [
        (NETWORK, without_biases, "wrong-point", "b and c are left out on the way forward"),
        (LOSS, lambda v: 2 * v["x"] * v["s"] ** 2, "wrong-point", "t is left out: this is what 0 in its place gives"),
        (LOSS, lambda v: 2 * (v["x"] - v["t"]), "missing-local", "s is left out: this is what 1 in its place gives"),
        (PICKED, lambda v: hit(v, -1) * (1 - v["x"].tanh() ** 2), "wrong-operand", "as if it were counted from 1"),
    ],
)
def test_an_input_left_out_or_counted_from_one_is_named(exercise: Exercise, rule: Rule, code: str, says: str) -> None:
    said = verdict(exercise, rule)
    assert said.code == code
    assert says in said.says


def hit(v: dict[str, Any], shift: int) -> torch.Tensor:
    """1 at the place `t + shift` of each row, else 0."""
    return torch.eye(v["x"].shape[1], dtype=torch.float64)[v["t"] + shift]


MARGIN = Exercise(
    "the mean of relu(1 - x s)",
    lambda x, s: (1 - x * s).clamp_min(0).mean(),
    {"x": away_from((-1.0, 0.0, 1.0), "n m"), "s": normal("n m")},
    stored("x.g"),
)
PAIRED = Exercise(
    "mean of squares",
    lambda x, t: (x.squeeze(-1) - t).pow(2).mean(),
    {"x": normal("bs 1"), "t": normal("bs")},
    stored("x.g"),
)


def test_a_constant_left_out_for_all_that_follows_is_a_wrong_point() -> None:
    said = verdict(MARGIN, lambda v: -v["s"] * (v["x"] * v["s"] < 0) / v["x"].numel())
    assert (said.code, "number of `1 -` is left out" in said.says) == ("wrong-point", True)


@pytest.mark.parametrize("count", [1, 2])
def test_two_shapes_that_broadcast_because_one_was_not_squeezed_are_told(count: int) -> None:
    """Divided by all the pairs, as the mean of the broadcast differences would be, or by the batch size."""
    said = verdict(PAIRED, lambda v: 2 * (v["x"] - v["t"]).sum(1, keepdim=True) / len(v["x"]) ** count)
    assert (said.code, "without `squeeze`" in said.says) == ("broadcast-accident", True)


SPREAD = Exercise(
    "squared deviations",
    lambda x, s: ((x - x.mean(-1, keepdim=True)) ** 2 * s).sum(),
    {"x": normal("n m"), "s": normal("1")},
    stored("x.g"),
)


def test_a_sum_where_the_forward_pass_has_a_difference_is_a_wrong_sign() -> None:
    """Also where whoever wrote it has left out the path through the mean, which contributes nothing."""
    said = verdict(SPREAD, lambda v: 2 * v["s"] * (v["x"] + v["x"].mean(-1, keepdim=True)))
    assert said.code == "wrong-sign"
    assert "`-` has the wrong sign from there on" in said.says

"""Gradients that are right for another forward pass: an input, a constant, a step that is left out or another one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.verdicts import Rule, assert_named, verdict

from grader.course.exercise import Answer, Exercise, stored
from grader.course.sampling import away_from, each_of, indices, normal, number, output, uniform

GIVEN = {"x": normal("n"), "t": normal("n"), "s": normal("n")}
PRODUCT = Exercise("a squared error", lambda x, t, s: ((x * s - t) ** 2).sum(), GIVEN, stored("x.g"))
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
SPREAD = Exercise(
    "squared deviations",
    lambda x, s: ((x - x.mean(-1, keepdim=True)) ** 2 * s).sum(),
    {"x": normal("n m"), "s": normal("1")},
    stored("x.g"),
)
SILU = Exercise("x sigmoid(x)", lambda x: x * x.sigmoid(), {"x": normal("n m"), "out": output()}, stored("x.g"))


def without_biases(v: dict[str, Any]) -> torch.Tensor:
    hidden = (v["x"] @ v["w"]).tanh()
    out = hidden @ v["v"]
    return (2 * out / out.numel() @ v["v"].T * (1 - hidden**2)) @ v["w"].T


def hit(v: dict[str, Any], shift: int) -> torch.Tensor:
    """1 at the place `t + shift` of each row, else 0."""
    return torch.eye(v["x"].shape[1], dtype=torch.float64)[v["t"] + shift]


def gate_of_out(v: dict[str, Any]) -> torch.Tensor:
    """The gate is computed from out, and then used rightly in both places."""
    gate = v["out"].sigmoid()
    return v["out_g"] * (gate + v["x"] * gate * (1 - gate))


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (NETWORK, without_biases, "wrong-point: in place of b and c, the computation uses 0"),
        (PRODUCT, lambda v: 2 * v["x"] * v["s"] ** 2, "wrong-point"),
        (PRODUCT, lambda v: 2 * (v["x"] - v["t"]), "missing-local"),
        (PICKED, lambda v: hit(v, -1) * (1 - v["x"].tanh() ** 2), "wrong-operand: one position before the right one"),
        (MARGIN, lambda v: -v["s"] * (v["x"] * v["s"] < 0) / v["x"].numel(), "wrong-point: the number 1 is missing"),
        (
            PAIRED,  # divided by the batch size, or by all the pairs, as the mean of the broadcast differences would be
            lambda v: 2 * (v["x"] - v["t"]).sum(1, keepdim=True) / len(v["x"]),
            "broadcast-accident: each entry of x meets every entry of t, as if `x.squeeze(-1)` were left out",
        ),
        (PAIRED, lambda v: 2 * (v["x"] - v["t"]).sum(1, keepdim=True) / len(v["x"]) ** 2,
         "broadcast-accident: each entry of x meets every entry of t, as if `x.squeeze(-1)` were left out"),
        (
            SPREAD,  # without the path through the mean, which contributes nothing
            lambda v: 2 * v["s"] * (v["x"] + v["x"].mean(-1, keepdim=True)),
            "wrong-sign",
        ),
        (SILU, gate_of_out, "wrong-point"),
    ],
)  # fmt: skip
def test_another_forward_pass_is_named(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name)


def test_an_answer_that_is_a_value_has_the_slips_of_the_way_forward_alone() -> None:
    inputs = {"x": normal("n"), "b": normal("n")}
    exercise = Exercise("x", lambda x, b: ((x + b) ** 2).mean(), inputs, (Answer("return", "", "value"),))
    assert_named(exercise, lambda v: (v["x"] ** 2).mean(), "wrong-point: b")
    assert verdict(exercise, lambda v: torch.zeros(())).code in {"unknown", "hard-coded"}


# --- rarer: other rows of an input, another upstream gradient, an option that is not asked for -----------------

LOSS = Exercise(
    "a squared error", lambda x, t: ((x - t) ** 2).mean(), {"x": normal("bs c"), "t": normal("bs c")}, stored("x.g")
)
LINEAR = Exercise(
    "a product", lambda x, w: x @ w, {"x": normal("bs n"), "w": normal("n m"), "out": output()}, stored("x.g", "w.g")
)
POWER = Exercise(
    "a power", lambda x, k: x**k, {"x": normal("bs n"), "out": output(), "k": each_of(3, 2, 1)}, stored("x.g")
)
SHARES = Exercise("shares", lambda x: x.softmax(-1), {"x": normal("bs c"), "out": output()}, stored("x.g"))


def jacobian(shares: torch.Tensor) -> torch.Tensor:
    return torch.diag(shares) - torch.outer(shares, shares)


@pytest.mark.parametrize(
    ("exercise", "answer", "rule", "name"),
    [
        (LOSS, "x.g", lambda v: mse(v["x"] - v["t"].mean(0)), "wrong-operand: the mean over all rows of t"),
        (LOSS, "x.g", lambda v: mse(v["x"] - v["t"].mean()), "wrong-operand: the mean of t in every entry"),
        (LOSS, "x.g", lambda v: mse(v["x"] - v["t"][0]), "partial-batch: the first row of t"),
        (LOSS, "x.g", lambda v: mse(v["x"].mean(0) - v["t"]), "wrong-operand: the mean over all rows of x"),
        (LINEAR, "w.g", lambda v: v["x"].roll(1, 0).T @ v["out_g"], "wrong-operand"),
        (LINEAR, "w.g", lambda v: v["x"].abs().T @ v["out_g"], "wrong-operand: the absolute value of x"),
        (LINEAR, "w.g", lambda v: v["x"].flip(0).T @ v["out_g"], "wrong-operand: reverse order"),
        (
            LINEAR,
            "w.g",
            lambda v: (v["x"] - v["x"].mean(0)).T @ v["out_g"],
            "wrong-operand: out.g minus its mean over bs",
        ),
        (SHARES, "x.g", lambda v: v["out_g"] @ jacobian(v["x"][0].softmax(-1)), "partial-batch: the first row of x"),
    ],
)
def test_other_rows_or_numbers_of_an_input_are_named(exercise: Exercise, answer: str, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name, answer)


def mse(difference: torch.Tensor) -> torch.Tensor:
    return 2 * difference / difference.numel()


@pytest.mark.parametrize(
    ("exercise", "answer", "rule", "name"),
    [
        (LINEAR, "x.g", lambda v: (v["out_g"] - v["out"]) @ v["w"].T, "wrong-operand: out.g minus `out`"),
        (LINEAR, "w.g", lambda v: v["x"].T @ (v["out_g"] + v["out"]), "wrong-operand: out.g plus `out`"),
        (LINEAR, "x.g", lambda v: (v["out_g"] * (v["out"] > 0)) @ v["w"].T, "wrong-local: where `out` is positive"),
        (POWER, "x.g", lambda v: 2 * v["x"] * v["out_g"], "hard-coded"),
    ],
)  # fmt: skip
def test_each_rarer_mistake_is_named(exercise: Exercise, answer: str, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name, answer)


SENT = Exercise(
    "", lambda x, i, j: x.new_zeros(x.shape).index_add(0, j, x[i]),
    {"x": normal("n d"), "i": indices("k", "n"), "j": indices("k", "n"), "out": output()}, stored("x.g"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (SENT, lambda v: torch.zeros_like(v["x"]).index_add(0, v["i"], v["out_g"][v["i"]]),
         "wrong-operand: i is used in place of the index j"),
    ],
)  # fmt: skip
def test_another_loss_count_index_or_order_is_named(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name)


def smoothed(x: torch.Tensor, t: torch.Tensor, eps: float) -> torch.Tensor:
    truth = (1 - eps) * torch.eye(x.shape[1], dtype=x.dtype)[t] + eps / x.shape[1]
    return -(truth * x.log_softmax(-1)).sum()


def smoothed_gradient(v: dict[str, Any], eps: float) -> torch.Tensor:
    truth = (1 - eps) * torch.eye(v["x"].shape[1], dtype=v["x"].dtype)[v["t"]] + eps / v["x"].shape[1]
    return v["x"].softmax(-1) - truth


SMOOTHED = Exercise(
    "smoothed", smoothed, {"x": normal("bs c"), "t": indices("bs", "c"), "eps": number(0.05, 0.3)}, stored("x.g")
)
POWER = Exercise(
    "a power", lambda x, p: (x**p).sum(), {"x": uniform("n", 0.5, 2.0), "p": number(1.5, 3)}, stored("x.g")
)


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (SMOOTHED, lambda v: smoothed_gradient(v, 0.1), "hard-coded: 0.1 is used in place of eps, which is"),
        (SMOOTHED, lambda v: smoothed_gradient(v, v["eps"] * (c := v["x"].shape[1]) / (c - 1)),
         "wrong-factor: eps is c / (c - 1) times what it should be"),
        (POWER, lambda v: 2.5 * v["x"] ** 1.5, "hard-coded: 2.5 is used in place of p, which is"),
        (SMOOTHED, lambda v: smoothed_gradient(v, 1 - v["eps"]), "wrong-operand: 1 - eps is used in place of eps"),
        (SMOOTHED, lambda v: smoothed_gradient(v, v["eps"]) * v["x"].sigmoid(), "unknown"),
    ],
)  # fmt: skip
def test_another_number_is_solved_for_and_explained(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name)

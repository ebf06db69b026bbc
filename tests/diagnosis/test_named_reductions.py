"""Slips in sums, means, maxima and running sums, along an axis that changes from trial to trial."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from helpers.verdicts import Rule, assert_named, verdict

from grader.course.exercise import Exercise, stored
from grader.course.sampling import each_of, normal, output, spaced
from grader.diagnosis.operators.reductions import fields_of_counts
from grader.program.recording import record

DIM = each_of(1, -1, 0)
KEPT = {"x": normal("bs n m"), "out": output(), "dim": each_of(1, -1, 0, 0, -1), "keepdim": each_of(False, True)}
GIVEN = {"x": normal("bs n m"), "out": output(), "dim": DIM}
SPACED = {"x": spaced("bs n m"), "out": output(), "dim": DIM}
SUM = Exercise("a sum", lambda x, dim, keepdim: x.sum(dim, keepdim), KEPT, stored("x.g"))
MEAN = Exercise("a mean", lambda x, dim, keepdim: x.mean(dim, keepdim), KEPT, stored("x.g"))
ERROR = Exercise(
    "a mean square", lambda x, y: (x - y).pow(2).mean(), {"x": normal("bs"), "y": normal("bs")}, stored("x.g")
)
MAX = Exercise("the largest", lambda x, dim: x.max(dim).values, SPACED, stored("x.g"))
MIN = Exercise("the smallest", lambda x, dim: x.amin(dim), SPACED, stored("x.g"))
RUNNING = Exercise("a running sum", lambda x, dim: x.cumsum(dim), SPACED, stored("x.g"))
SOFTMAX = Exercise("softmax", lambda x, dim: x.softmax(dim), SPACED, stored("x.g"))


def spread(x: torch.Tensor, dim: int) -> torch.Tensor:
    return ((x - x.mean(dim, keepdim=True)) ** 2).sum(dim)


LENGTH = Exercise("a length", lambda x, dim: x.norm(dim=dim), GIVEN, stored("x.g"))
SPREAD = Exercise("a sum of squared deviations", spread, GIVEN, stored("x.g"))


def wide(v: dict[str, Any]) -> torch.Tensor:
    """The upstream gradient with the axis that was lost, at every entry of x."""
    g = v["out_g"]
    return (g if g.dim() == v["x"].dim() else g.unsqueeze(v["dim"])).expand(v["x"].shape)


def n(v: dict[str, Any]) -> int:
    return v["x"].shape[v["dim"]]


def picked(v: dict[str, Any]) -> torch.Tensor:
    return v["x"] == v["out"].unsqueeze(v["dim"])


def back(v: dict[str, Any]) -> torch.Tensor:
    return v["out_g"].flip(v["dim"]).cumsum(v["dim"]).flip(v["dim"])


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (SUM, lambda v: wide(v) / n(v), "mean-for-sum: divided by the number of summed entries"),
        (SUM, lambda v: wide(v) * v["x"], "extra-factor: has an extra factor"),
        (SUM, lambda v: torch.ones_like(v["x"]), "missing-upstream: is missing: your code treats it as 1"),
        (SUM, lambda v: v["out_g"], "missing-local"),
        (SUM, lambda v: wide(v) * (1 if v["dim"] >= 0 else 2), "hard-coded"),
        (MEAN, wide, "sum-for-mean: is not divided by the number of averaged entries"),
        (MEAN, lambda v: wide(v) / n(v) ** 2, "extra-factor: the square of the number of entries"),
        (MEAN, lambda v: wide(v) / max(n(v) - 1, 1), "wrong-factor: the number of entries minus 1"),
        (MEAN, lambda v: wide(v) * v["x"] / v["x"].sum(v["dim"], keepdim=True), "wrong-local: share of the sum"),
        (ERROR, lambda v: 2 * (v["x"] - v["y"]) / (len(v["x"]) - 1 + 1e-12), "wrong-factor: bs / (bs - 1) times"),
        (MAX, wide, "missing-local: goes to every entry;"),
        (
            MAX,
            lambda v: wide(v) * ~picked(v),
            "inverted-mask: the gradient of the maximum goes to every entry except the largest",
        ),
        (MAX, lambda v: wide(v) * picked(v) * v["x"], "extra-factor: has an extra factor"),
        (MAX, lambda v: wide(v) / n(v), "wrong-local: is divided equally among all entries"),
        (MAX, lambda v: wide(v) * (v["x"] == v["x"].max()), "summed-wrong-axis: of all entries only"),
        (
            MAX,
            lambda v: wide(v) * (v["x"] == v["x"].amax(0, keepdim=True)),
            "summed-wrong-axis: along the first axis",
        ),
        (
            MAX,
            lambda v: wide(v) * (v["x"] == v["x"].amin(v["dim"], keepdim=True)),
            "wrong-local: goes to the smallest entries",
        ),
        (MAX, lambda v: picked(v).double(), "missing-upstream: is missing: your code treats it as 1"),
        (MIN, lambda v: wide(v) * (v["x"] == v["x"].min()), "summed-wrong-axis: of all entries only"),
        (MIN, lambda v: wide(v) * (v["x"] == v["x"].amax(v["dim"], True)), "wrong-local: goes to the largest entries"),
        (RUNNING, lambda v: back(v) / n(v), "mean-for-sum"),
        (RUNNING, lambda v: back(v).flip(v["dim"]), "wrong-local"),
        (RUNNING, lambda v: v["out_g"].cumsum(v["dim"]).flip(v["dim"]), "wrong-local"),
        (RUNNING, lambda v: back(v) - v["out_g"], "missing-path"),
        (
            RUNNING,
            lambda v: 0 * v["x"] + v["out_g"].sum(v["dim"], True),
            "wrong-local: is the sum of out.g over the whole axis",
        ),
        (RUNNING, lambda v: v["out_g"], "missing-local"),
        (LENGTH, lambda v: wide(v) * v["x"], "missing-local: is not divided by the norm"),
        (LENGTH, lambda v: wide(v), "missing-local"),
        # softmax keeps the shape, yet every output depends on every input along the axis
        (SOFTMAX, lambda v: v["out_g"] * v["out"] * (1 - v["out"]), "diagonal-only: only its own output"),
        (
            SOFTMAX,
            lambda v: v["out_g"].softmax(v["dim"]),
            "wrong-local: the softmax itself is applied to out.g; out.g must be multiplied by the derivative of",
        ),
    ],
)
def test_each_slip_along_an_axis_is_told_apart(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name)


@pytest.mark.parametrize(
    ("exercise", "rule", "count"),
    [
        (MEAN, lambda v: wide(v) / v["x"].numel(), "72, the total number of entries"),
        (MEAN, lambda v: wide(v) / v["out"].numel(), "12, the number of entries of the result"),
        (MEAN, lambda v: wide(v) / v["x"].shape[-1], "4, the size of m"),
    ],
)
def test_the_count_that_was_divided_by_is_told(exercise: Exercise, rule: Rule, count: str) -> None:
    assert_named(exercise, rule, f"wrong-factor: {count}")


def test_the_end_that_was_picked_is_told() -> None:

    def rule(v: dict[str, Any]) -> Any:
        return wide(v) * (v["x"] == v["x"].amin(v["dim"], True))

    assert "the gradient of the maximum goes to the smallest entries" in verdict(MAX, rule).says


# --- paths that contribute nothing in total ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (lambda v: 2 * v["x"], "wrong-point"),
        (lambda v: v["x"] - v["x"].mean(v["dim"], keepdim=True), "missing-local"),
        (lambda v: 2 * (v["x"] - v["x"].mean()), "summed-wrong-axis"),
        (lambda v: 2 * (v["x"] - v["x"].mean(0, keepdim=True)), "summed-wrong-axis"),
        (lambda v: 2 * (v["x"] - v["x"].mean(v["dim"], keepdim=True)) ** 2, "wrong-local: is not reduced by 1"),
    ],
)
def test_a_slip_in_a_gradient_without_its_idle_path_is_named(rule: Rule, name: str) -> None:
    """A learner may leave such a path out, and so does the sweep that looks for the mistake."""
    assert_named(SPREAD, lambda v: rule(v) * v["out_g"].unsqueeze(v["dim"]), name)


def test_two_counts_that_are_equal_are_told_without_their_numbers() -> None:
    program = record(lambda x: x.mean(0), {"x": np.arange(9.0).reshape(3, 3)}, np.ones(3))
    mean = program.forward.uses[program.inputs["x"]][0]
    fields = fields_of_counts(program, mean, "all entries that are left")
    assert fields == {"count": "the number of entries of the result", "right": "the number of entries"}
    assert fields_of_counts(program, mean, "all entries")["count"] == "9, the total number of entries"

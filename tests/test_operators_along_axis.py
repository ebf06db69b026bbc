"""Slips in sums, means, maxima and running sums, along an axis that changes from trial to trial."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from verdicts import Rule, named, told, verdict

from grader.exercise import Exercise, stored
from grader.reference.edges import idle_edges, uses_of
from grader.reference.operation_recorder import record
from grader.sampling import each_of, normal, output, spaced

DIM = each_of(1, -1, 0)
KEPT = {"x": normal("bs n m"), "out": output(), "dim": each_of(1, -1, 0, 0, -1), "keepdim": each_of(False, True)}
GIVEN = {"x": normal("bs n m"), "out": output(), "dim": DIM}
SPACED = {"x": spaced("bs n m"), "out": output(), "dim": DIM}
SUM = Exercise("a sum", lambda x, dim, keepdim: x.sum(dim, keepdim), KEPT, stored("x.g"))
MEAN = Exercise("a mean", lambda x, dim, keepdim: x.mean(dim, keepdim), KEPT, stored("x.g"))
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
        (SUM, lambda v: wide(v) / n(v), "mean-for-sum: sum-divided"),
        (SUM, lambda v: wide(v) * v["x"], "extra-factor: times-input"),
        (SUM, lambda v: torch.ones_like(v["x"]), "missing-upstream: upstream-missing"),
        (SUM, lambda v: v["out_g"], "missing-local: upstream-itself"),
        (SUM, lambda v: wide(v) * (1 if v["dim"] >= 0 else 2), "hard-coded: right-only-where"),
        (MEAN, wide, "sum-for-mean: mean-not-divided"),
        (MEAN, lambda v: wide(v) / n(v) ** 2, "extra-factor: mean-divided-twice"),
        (MAX, wide, "missing-local: picked-mask-missing"),
        (MAX, lambda v: wide(v) * ~picked(v), "inverted-mask: picked-mask-inverted"),
        (MAX, lambda v: wide(v) * picked(v) * v["x"], "extra-factor: times-input"),
        (MAX, lambda v: wide(v) / n(v), "wrong-local: pick-as-mean"),
        (MAX, lambda v: wide(v) * (v["x"] == v["x"].max()), "summed-wrong-axis: picked-of-all"),
        (
            MAX,
            lambda v: wide(v) * (v["x"] == v["x"].amax(0, keepdim=True)),
            "summed-wrong-axis: picked-along-another-axis",
        ),
        (MAX, lambda v: wide(v) * (v["x"] == v["x"].amin(v["dim"], keepdim=True)), "wrong-local: other-end-picked"),
        (MAX, lambda v: picked(v).double(), "missing-upstream: upstream-missing"),
        (MIN, lambda v: wide(v) * (v["x"] == v["x"].min()), "summed-wrong-axis: picked-of-all"),
        (MIN, lambda v: wide(v) * (v["x"] == v["x"].amax(v["dim"], True)), "wrong-local: other-end-picked"),
        (RUNNING, lambda v: back(v) / n(v), "mean-for-sum: factor-divided"),
        (RUNNING, lambda v: back(v).flip(v["dim"]), "wrong-local: result-turned-round"),
        (RUNNING, lambda v: v["out_g"].cumsum(v["dim"]).flip(v["dim"]), "wrong-local: upstream-turned-round"),
        (RUNNING, lambda v: back(v) - v["out_g"], "missing-path: own-output-missing"),
        (RUNNING, lambda v: 0 * v["x"] + v["out_g"].sum(v["dim"], True), "wrong-local: sum-over-whole-axis"),
        (RUNNING, lambda v: v["out_g"], "missing-local: upstream-itself"),
        (LENGTH, lambda v: wide(v) * v["x"], "missing-local: norm-not-divided"),
        (LENGTH, lambda v: wide(v), "missing-local: derivative-missing"),
        # softmax keeps the shape, yet every output depends on every input along the axis
        (SOFTMAX, lambda v: v["out_g"] * v["out"] * (1 - v["out"]), "diagonal-only: only-diagonal-of-softmax"),
        (SOFTMAX, lambda v: v["out_g"].softmax(v["dim"]), "wrong-local: forward-of-upstream"),
    ],
)
def test_each_slip_along_an_axis_is_told_apart(exercise: Exercise, rule: Rule, name: str) -> None:
    assert named(exercise, rule) == name


@pytest.mark.parametrize(
    ("exercise", "rule", "name", "count"),
    [
        (MEAN, lambda v: wide(v) / v["x"].numel(), "wrong-factor: divided-by-another-count", "all"),
        (MEAN, lambda v: wide(v) / v["out"].numel(), "wrong-factor: divided-by-another-count", "left"),
        (MEAN, lambda v: wide(v) / v["x"].shape[-1], "wrong-factor: divided-by-another-count", "last"),
    ],
)
def test_the_count_that_was_divided_by_is_told(exercise: Exercise, rule: Rule, name: str, count: str) -> None:
    assert named(exercise, rule) == name
    assert told(verdict(exercise, rule))["count"] == count


def test_the_end_that_was_picked_is_told() -> None:
    said = verdict(MAX, lambda v: wide(v) * (v["x"] == v["x"].amin(v["dim"], True)))
    assert (told(said)["found"], told(said)["wanted"]) == ("smallest", "largest")


# --- paths that contribute nothing in total ----------------------------------------------------------------------


def test_the_path_through_the_mean_of_squared_deviations_is_idle() -> None:
    x, g = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    trace = record(lambda x: spread(x, 1), {"x": x}, g)
    assert {trace.steps[step].name for step, _ in uses_of(trace, idle_edges(trace, "x"))} == {"mean"}
    assert idle_edges(record(lambda x: x * x.sin(), {"x": x}, torch.ones_like(x)), "x") == ()


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (lambda v: 2 * v["x"], "wrong-point: derivative-at-another-value"),
        (lambda v: v["x"] - v["x"].mean(v["dim"], keepdim=True), "missing-local: factor-of-power-missing"),
        (lambda v: 2 * (v["x"] - v["x"].mean()), "summed-wrong-axis: reduced-along-another-axis"),
        (lambda v: 2 * (v["x"] - v["x"].mean(0, keepdim=True)), "summed-wrong-axis: reduced-along-another-axis"),
        (lambda v: 2 * (v["x"] - v["x"].mean(v["dim"], keepdim=True)) ** 2, "wrong-local: exponent-not-lowered"),
    ],
)
def test_a_slip_in_a_gradient_without_its_idle_path_is_named(rule: Rule, name: str) -> None:
    """A learner may leave such a path out, and so does the sweep that looks for the mistake."""
    assert named(SPREAD, lambda v: rule(v) * v["out_g"].unsqueeze(v["dim"])) == name

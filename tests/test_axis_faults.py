"""Slips in sums, means, maxima and running sums, along an axis that changes from trial to trial."""

from __future__ import annotations

import pytest
import torch
from test_graph_faults import Rule, verdict

from grader.exercise import Exercise, stored
from grader.sampling import each_of, normal, output, spaced

DIM, KEEPDIM = each_of(1, -1, 0, 0, -1), each_of(False, True)
GIVEN = {"x": normal("bs n m"), "out": output(), "dim": DIM, "keepdim": KEEPDIM}
SUM = Exercise("a sum", lambda x, dim, keepdim: x.sum(dim, keepdim), GIVEN, stored("x.g"))
MEAN = Exercise("a mean", lambda x, dim, keepdim: x.mean(dim, keepdim), GIVEN, stored("x.g"))
GIVEN = {"x": spaced("bs n m"), "out": output(), "dim": each_of(1, -1, 0)}
MAX = Exercise("the largest", lambda x, dim: x.max(dim).values, GIVEN, stored("x.g"))
MIN = Exercise("the smallest", lambda x, dim: x.amin(dim), GIVEN, stored("x.g"))
RUNNING = Exercise("a running sum", lambda x, dim: x.cumsum(dim), GIVEN, stored("x.g"))
SOFTMAX = Exercise("softmax", lambda x, dim: x.softmax(dim), GIVEN, stored("x.g"))


def wide(v: dict[str, torch.Tensor]) -> torch.Tensor:
    """The upstream gradient with the axis that was lost, at every entry of x."""
    g = v["out_g"]
    return (g if g.dim() == v["x"].dim() else g.unsqueeze(v["dim"])).expand(v["x"].shape)


def n(v: dict[str, torch.Tensor]) -> int:
    return v["x"].shape[v["dim"]]


def after(v: dict[str, torch.Tensor]) -> torch.Tensor:
    return v["out_g"].flip(v["dim"]).cumsum(v["dim"]).flip(v["dim"])


def picked(v: dict[str, torch.Tensor]) -> torch.Tensor:
    return v["x"] == v["out"].unsqueeze(v["dim"])


@pytest.mark.parametrize("turn", [False, True])
def test_differences_are_the_inverse_of_a_running_sum(turn: bool) -> None:
    def rule(v: dict[str, torch.Tensor]) -> torch.Tensor:
        g = v["out_g"].flip(v["dim"]) if turn else v["out_g"]
        found = g.diff(dim=v["dim"], prepend=0 * g.narrow(v["dim"], 0, 1))
        return found.flip(v["dim"]) if turn else found

    said = verdict(RUNNING, rule)
    assert said.code == "inverse-for-transpose"
    assert "undo `cumsum`" in said.says


@pytest.mark.parametrize(
    ("exercise", "rule", "code", "says"),
    [
        (SUM, lambda v: wide(v) / n(v), "mean-for-sum", "`sum` does not average"),
        (SUM, lambda v: wide(v) / v["x"].numel(), "mean-for-sum", "the number of all entries"),
        (SUM, lambda v: wide(v) / len(v["x"]), "mean-for-sum", "the size of the first axis"),
        (SUM, lambda v: wide(v) * v["x"], "extra-factor", "multiplied by x itself"),
        (SUM, lambda v: torch.ones_like(v["x"]), "missing-upstream", "out.g is missing"),
        (SUM, lambda v: v["out_g"], "missing-local", "the upstream gradient itself"),
        (SUM, lambda v: wide(v) * (1 if v["dim"] >= 0 else 2), "hard-coded", "only where dim is not -1"),
        (RUNNING, lambda v: after(v) / n(v), "mean-for-sum", "the size of axis dim"),
        (MEAN, wide, "sum-for-mean", "from `mean` is left out"),
        (MEAN, lambda v: wide(v) / n(v) ** 2, "extra-factor", "is applied twice"),
        (MEAN, lambda v: wide(v) / v["x"].numel(), "wrong-factor", "the number of all entries"),
        (MEAN, lambda v: wide(v) / v["out"].numel(), "wrong-factor", "the number of entries that are left"),
        (MEAN, lambda v: wide(v) / v["x"].shape[-1], "wrong-factor", "the size of the last axis"),
    ],
)
def test_each_slip_in_a_reduction_is_told_apart(exercise: Exercise, rule: Rule, code: str, says: str) -> None:
    said = verdict(exercise, rule)
    assert said.code == code
    assert says in said.says


@pytest.mark.parametrize(
    ("rule", "code", "says"),
    [
        (wide, "missing-local", "not only the one that `max` has picked"),
        (lambda v: wide(v) * ~picked(v), "inverted-mask", "have no gradient, and all the others have one"),
        (lambda v: wide(v) * picked(v) * v["x"], "extra-factor", "multiplied by x itself"),
        (lambda v: wide(v) * v["x"], "wrong-local", "stand where the mask of `max` belongs"),
        (lambda v: wide(v) / n(v), "wrong-local", "as if `max` were a mean"),
        (lambda v: wide(v) * (v["x"] == v["x"].max()), "summed-wrong-axis", "of all entries"),
        (lambda v: wide(v) * (v["x"] == v["x"].amax(0, keepdim=True)), "summed-wrong-axis", "along axis 0"),
        (lambda v: wide(v) * (v["x"] == v["x"].amin(v["dim"], keepdim=True)), "wrong-local", "the smallest"),
        (lambda v: picked(v).double(), "missing-upstream", "out.g is missing"),
    ],
)
def test_each_slip_in_a_maximum_is_told_apart(rule: Rule, code: str, says: str) -> None:
    said = verdict(MAX, rule)
    assert said.code == code
    assert says in said.says


def test_a_minimum_has_the_slips_of_a_maximum() -> None:
    assert verdict(MIN, lambda v: wide(v) * (v["x"] == v["x"].min())).code == "summed-wrong-axis"
    assert "marks the largest" in verdict(MIN, lambda v: wide(v) * (v["x"] == v["x"].amax(v["dim"], True))).says


def back(v: dict[str, torch.Tensor]) -> torch.Tensor:
    return v["out_g"].flip(v["dim"]).cumsum(v["dim"]).flip(v["dim"])


@pytest.mark.parametrize(
    ("rule", "code", "says"),
    [
        (lambda v: v["out_g"].cumsum(v["dim"]), "wrong-local", "`cumsum` is applied to the gradient"),
        (lambda v: back(v).flip(v["dim"]), "wrong-local", "back to front"),
        (lambda v: v["out_g"].cumsum(v["dim"]).flip(v["dim"]), "wrong-local", "was turned back to front"),
        (lambda v: back(v) - v["out_g"], "missing-path", "in its own place is missing"),
        (lambda v: 0 * v["x"] + v["out_g"].sum(v["dim"], True), "wrong-local", "the sum over the whole axis"),
        (lambda v: v["out_g"].flip(0).cumsum(0).flip(0), "summed-wrong-axis", "along axis 0"),
        (lambda v: v["out_g"], "missing-local", "as if `cumsum` had done nothing"),
    ],
)
def test_each_slip_in_a_running_sum_is_told_apart(rule: Rule, code: str, says: str) -> None:
    said = verdict(RUNNING, rule)
    assert said.code == code
    assert says in said.says


def test_an_operation_along_an_axis_is_not_taken_for_one_entry_by_entry() -> None:
    """Softmax keeps the shape, yet every output depends on every input along the axis."""
    assert verdict(SOFTMAX, lambda v: v["out_g"] * v["out"] * (1 - v["out"])).code == "diagonal-only"
    assert verdict(SOFTMAX, lambda v: v["out_g"].softmax(v["dim"])).code == "wrong-local"

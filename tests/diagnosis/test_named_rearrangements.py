"""Slips in putting entries back where they came from, and arrays turned, shifted and transposed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from helpers.verdicts import Rule, assert_named, verdict

from grader.course.exercise import Exercise, stored
from grader.course.sampling import each_of, indices, normal, output

ORDER = each_of((1, 2, 0), (2, 0, 1), (0, 2, 1))
PERMUTED = Exercise(
    "axes in another order",
    lambda x, order: x.permute(order),
    {"x": normal("bs n m"), "out": output(), "order": ORDER},
    stored("x.g"),
)
JOINED = Exercise(
    "two joined",
    lambda a, b, dim: torch.cat((a, b), dim),
    {"a": normal("bs n m"), "b": normal("bs k m | bs n k | k n m"), "out": output(), "dim": each_of(1, -1, 0)},
    stored("a.g", "b.g"),
)
PICKED = Exercise(
    "rows", lambda x, i: x[i], {"x": normal("n m"), "out": output(), "i": indices("k", "n")}, stored("x.g")
)
LINEAR = Exercise(
    "a product", lambda x, w: x @ w, {"x": normal("bs n"), "w": normal("n m"), "out": output()}, stored("x.g", "w.g")
)


def assigned(v: dict[str, Any], turned: bool = False) -> torch.Tensor:
    """One write for each row that was picked, one after the other."""
    written = np.zeros(v["x"].shape)
    for place in reversed(range(len(v["i"]))) if turned else range(len(v["i"])):
        written[v["i"][place]] = v["out_g"][place]
    return torch.from_numpy(written)


def added(v: dict[str, Any]) -> torch.Tensor:
    return torch.zeros_like(v["x"]).index_add(0, v["i"], v["out_g"])


def times(v: dict[str, Any]) -> torch.Tensor:
    return torch.bincount(v["i"], minlength=len(v["x"])).clamp_min(1).unsqueeze(1)


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (PERMUTED, lambda v: v["out_g"].permute(v["order"]), "transposed"),
        (PERMUTED, lambda v: v["out_g"].mT, "hard-coded"),
        (PICKED, assigned, "overwritten: only the last contribution"),
        (PICKED, lambda v: assigned(v, turned=True), "overwritten: only the first contribution"),
        (PICKED, lambda v: added(v) / times(v), "mean-for-sum: the mean of"),
        (PICKED, lambda v: added(v) * v["x"], "extra-factor: has an extra factor"),
    ],
)
def test_each_slip_in_putting_entries_back_is_told_apart(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name)


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (lambda g, a, b, dim: g.narrow(dim, b.shape[dim], a.shape[dim]), "wrong-operand: from the wrong end"),
        (lambda g, a, b, dim: g.narrow(dim, a.shape[dim], b.shape[dim]), "wrong-operand"),
        (lambda g, a, b, dim: g.chunk(2, dim)[0], "shape-special"),
        (lambda g, a, b, dim: g.narrow(dim, 0, g.shape[dim] // 2), "shape-special"),
        (lambda g, a, b, dim: g[: len(a)], "hard-coded"),
    ],
)
def test_each_slip_in_cutting_what_was_joined_is_told_apart(part: Rule, name: str) -> None:
    assert_named(JOINED, lambda v: part(v["out_g"], v["a"], v["b"], v["dim"]), name)


@pytest.mark.parametrize(
    ("answer", "rule", "name"),
    [
        ("x.g", lambda v: v["out_g"] @ v["w"].flip(1).T, "wrong-operand: by out.g at the opposite index"),
    ],
)
def test_what_is_moved_along_an_axis_is_told(answer: str, rule: Rule, name: str) -> None:
    """Where the axis is one of the answer's own, the answer itself is said to be in other places."""
    assert_named(LINEAR, rule, name, answer)


def test_how_and_along_which_axis_it_is_moved_is_told() -> None:
    """Of a product, either factor may be: the indices that are multiplied are told."""
    rule, name = lambda v: v["out_g"] @ v["w"].flip(1).T, "wrong-operand: by out.g at the opposite index"
    assert_named(LINEAR, rule, name, "x.g")


def test_no_hint_on_axes_that_are_moved_in_a_circle_speaks_of_a_matrix() -> None:
    hints = verdict(PERMUTED, lambda v: v["out_g"].permute(v["order"])).hints
    assert "rearrange it twice" in hints[0]
    assert "matrix" not in " ".join(hints)

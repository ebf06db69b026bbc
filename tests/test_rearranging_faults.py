"""Slips in putting entries back where they came from: permuted, joined, picked, copied by broadcasting."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_graph_faults import Rule, verdict

from grader.exercise import Exercise, returned, stored
from grader.sampling import each_of, indices, normal, output, shape, upstream, withheld

PERMUTED = Exercise(
    "axes in another order",
    lambda x, order: x.permute(order),
    {"x": normal("bs n m"), "out": output(), "order": each_of((1, 2, 0), (2, 0, 1), (0, 2, 1))},
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
NARROW, WIDE = "n 1 | m | bs 1 m | bs n m", "bs n m | bs n m | bs n m | bs n m"
COPIED = Exercise(
    "a broadcast",
    lambda x, wide: x.expand(wide),
    {"g": upstream(), "x": withheld(normal(NARROW)), "wide": withheld(shape(WIDE))},
    returned("x"),
)
A, B = "bs 1 m | bs n m | m | n 1 | bs n", "n 1 | m | bs n m | bs 1 m | bs n"
GIVEN = {"a": normal(A), "b": normal(B), "out": output()}
PRODUCT = Exercise("a product", lambda a, b: a * b, GIVEN, stored("a.g", "b.g"))
TOTAL = Exercise("a sum", lambda a, b: a + b, GIVEN, stored("a.g", "b.g"))


def assigned(v: dict[str, torch.Tensor], turned: bool = False) -> torch.Tensor:
    """One write for each row that was picked, one after the other."""
    written = np.zeros(v["x"].shape)
    for place in reversed(range(len(v["i"]))) if turned else range(len(v["i"])):
        written[v["i"][place]] = v["out_g"][place]
    return torch.from_numpy(written)


def added(v: dict[str, torch.Tensor]) -> torch.Tensor:
    return torch.zeros_like(v["x"]).index_add(0, v["i"], v["out_g"])


def in_front(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    while g.dim() > x.dim():
        g = g.sum(0)
    return g


def largest(v: dict[str, torch.Tensor]) -> torch.Tensor:
    g, shape = v["out_g"], v["x"].shape
    while g.dim() > len(shape):
        g = g.amax(0)
    for axis in (i for i, size in enumerate(shape) if size == 1):
        g = g.amax(axis, keepdim=True)
    return g


def cut_and_summed(v: dict[str, torch.Tensor]) -> torch.Tensor:
    return v["out_g"].reshape(-1, v["x"].numel()).sum(0).reshape(v["x"].shape)


def behind(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    while g.dim() > x.dim():
        g = g.sum(-1)
    return stretched(g, x)


def stretched(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    for axis in range(-x.dim(), 0):
        if x.shape[axis] == 1:
            g = g.sum(axis, keepdim=True)
    return g


@pytest.mark.parametrize(
    ("exercise", "rule", "code", "says"),
    [
        (PERMUTED, lambda v: v["out_g"].permute(v["order"]), "transposed", "as it was to the value"),
        (PERMUTED, lambda v: v["out_g"].reshape(v["x"].shape), "reshape-for-transpose", "must be undone"),
        (
            PERMUTED,
            lambda v: v["out_g"].permute(v["order"]).reshape(v["x"].shape),
            "reshape-for-transpose",
            "reshaped until it fits",
        ),
        (PERMUTED, lambda v: v["out_g"].mT, "hard-coded", "order is (0, 2, 1)"),
        (PICKED, assigned, "overwritten", "keeps the last"),
        (PICKED, lambda v: assigned(v, turned=True), "overwritten", "keeps the first"),
        (
            PICKED,
            lambda v: added(v) / torch.bincount(v["i"], minlength=len(v["x"])).clamp_min(1).unsqueeze(1),
            "mean-for-sum",
            "are averaged",
        ),
        (PICKED, lambda v: added(v) * v["x"], "extra-factor", "multiplied by x itself"),
        (COPIED, lambda v: v["out_g"], "missing-batch-sum", "bs and m"),
        (COPIED, lambda v: in_front(v["out_g"], v["x"]), "missing-batch-sum", "stretched a size of 1"),
        (COPIED, lambda v: stretched(v["out_g"], v["x"]), "missing-batch-sum", "put in front"),
        (COPIED, lambda v: v["out_g"].sum().expand(v["x"].shape), "summed-wrong-axis", "added up to one number"),
        (COPIED, largest, "partial-batch", "only the largest counted"),
        (COPIED, cut_and_summed, "summed-wrong-axis", "cut into pieces"),
        (COPIED, lambda v: behind(v["out_g"], v["x"]), "summed-wrong-axis", "the last axes are summed away"),
    ],
)
def test_each_slip_in_putting_entries_back_is_told_apart(exercise: Exercise, rule: Rule, code: str, says: str) -> None:
    said = verdict(exercise, rule)
    assert said.code == code
    assert says in said.says


@pytest.mark.parametrize(
    ("part", "code"),
    [
        (lambda g, a, b, dim: g.narrow(dim, b.shape[dim], a.shape[dim]), "wrong-operand"),
        (lambda g, a, b, dim: g.narrow(dim, a.shape[dim], b.shape[dim]), "wrong-operand"),
        (lambda g, a, b, dim: g.chunk(2, dim)[0], "shape-special"),
        (lambda g, a, b, dim: g.narrow(dim, 0, g.shape[dim] // 2), "shape-special"),
        (lambda g, a, b, dim: g[: len(a)], "hard-coded"),
        (lambda g, a, b, dim: g.narrow(dim, 1, a.shape[dim]), "wrong-operand"),
    ],
)
def test_each_slip_in_cutting_what_was_joined_is_told_apart(part: Rule, code: str) -> None:
    assert verdict(JOINED, lambda v: part(v["out_g"], v["a"], v["b"], v["dim"])).code == code


@pytest.mark.parametrize(
    ("exercise", "rule", "code"),
    [
        (PRODUCT, lambda g, a, b: g * b, "missing-batch-sum"),
        (PRODUCT, lambda g, a, b: g.sum_to_size(a.shape), "missing-local"),
        (PRODUCT, lambda g, a, b: (g * a).sum_to_size(a.shape), "wrong-operand"),
        (PRODUCT, lambda g, a, b: (g.sum_to_size(a.shape) * b).sum_to_size(a.shape), "sum-of-products"),
        (PRODUCT, lambda g, a, b: (g * b).sum_to_size(a.shape) * a.numel() / g.numel(), "mean-for-sum"),
        (TOTAL, lambda g, a, b: (g * b).sum_to_size(a.shape), "wrong-local"),
        (TOTAL, lambda g, a, b: g.sum_to_size(b.shape), "wrong-operand"),
        (TOTAL, lambda g, a, b: g.sum_to_size(a.shape) * a, "extra-factor"),
    ],
)
def test_a_broadcast_is_understood_whichever_axes_it_adds(exercise: Exercise, rule: Rule, code: str) -> None:
    """The two shapes differ in every trial, and so do the axes to sum over."""
    assert verdict(exercise, lambda v: rule(v["out_g"], v["a"], v["b"])).code == code

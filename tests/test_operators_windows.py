"""Slips in what is cut out of an array: slices that overlap, parts of a split, and the windows of a convolution."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from verdicts import Rule, named

from grader.exercise import Exercise, stored
from grader.sampling import normal, output

G = {"out": output()}
SPLIT = Exercise(
    "",
    lambda x: (parts := x.chunk(3, -1))[0].sin() * parts[1].exp() + parts[2].tanh(),
    {"x": normal("bs 6"), **G},
    stored("x.g"),
)
HOLES = Exercise(
    "", lambda x, w: w[0] * x[:, :-4] + w[1] * x[:, 2:-2] + w[2] * x[:, 4:],
    {"x": normal("bs 9"), "w": normal("3"), **G}, stored("x.g", "w.g"),
)  # fmt: skip
DILATED = Exercise(
    "", lambda x, k: torch.nn.functional.conv1d(x, k, dilation=2), {"x": normal("bs c 9"), "k": normal("o c 3"), **G},
    stored("x.g"),
)  # fmt: skip


def split(*order: int) -> Rule:
    """The parts' gradients, put in this order."""

    def rule(k: dict[str, Any]) -> Any:
        a, b, c = k["x"].chunk(3, -1)
        parts = (k["out_g"] * a.cos() * b.exp(), k["out_g"] * a.sin() * b.exp(), k["out_g"] * (1 - c.tanh() ** 2))
        return torch.cat([parts[i] for i in order], -1)

    return rule


def written(*starts: int, add: bool = False) -> Rule:
    """Each tap's contribution written, or added, at its place."""

    def rule(k: dict[str, Any]) -> Any:
        g = torch.zeros_like(k["x"])
        for tap, start in enumerate(starts):
            here = g[:, start : start + 5]
            g[:, start : start + 5] = (here if add else 0) + k["w"][tap] * k["out_g"]
        return g

    return rule


def without_dilation(k: dict[str, Any]) -> Any:
    g = torch.zeros_like(k["x"])
    for tap in range(3):
        g[:, :, tap : tap + 5] += torch.einsum("bol,oc->bcl", k["out_g"], k["k"][:, :, tap])
    return g


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (SPLIT, split(1, 0, 2), "wrong-operand: parts-of-value-exchanged"),
        (SPLIT, split(0, 2, 1), "wrong-operand: parts-of-value-exchanged"),
        (HOLES, written(0, 2, 4), "overwritten: slices-overwritten"),
        (HOLES, written(0, 1, 2, add=True), "wrong-operand: slices-at-other-places"),
        (DILATED, without_dilation, "wrong-operand: geometry-ignored"),
    ],
)
def test_each_slip_in_what_is_cut_out_is_named(exercise: Exercise, rule: Rule, name: str) -> None:
    assert named(exercise, rule) == name

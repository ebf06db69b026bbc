"""Slips in what is cut out of an array: slices that overlap, parts of a split, and the windows of a convolution."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.verdicts import Rule, assert_named, unmended

from grader.course.exercise import Exercise, stored
from grader.course.sampling import normal, output

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
PLAIN = Exercise(
    "", lambda x, k, b: torch.nn.functional.conv1d(x, k, b),
    {"x": normal("bs c 9"), "k": normal("o c 3"), "b": normal("o"), **G}, stored("x.g", "k.g", "b.g"),
)  # fmt: skip
SPREAD = Exercise(
    "", lambda x, k: torch.nn.functional.conv1d(x, k, stride=2, dilation=2),
    {"x": normal("bs c 9"), "k": normal("o c 2"), **G}, stored("x.g", "k.g"),
)  # fmt: skip
MAXIMA = Exercise("", lambda x: x.unfold(-1, 3, 1).amax(-1), {"x": normal("bs 9"), **G}, stored("x.g"))


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


def winners_replaced(k: dict[str, Any]) -> Any:
    g, place = torch.zeros_like(k["x"]), k["x"].unfold(-1, 3, 1).argmax(-1)
    for i in range(place.shape[1]):
        g.scatter_(1, i + place[:, i : i + 1], k["out_g"][:, i : i + 1])
    return g


def windows_replaced(stride: int = 1, dilation: int = 1) -> Rule:
    """Each window's contribution written at its place."""

    def rule(k: dict[str, Any]) -> Any:
        g, span = torch.zeros_like(k["x"]), dilation * (k["k"].shape[2] - 1) + 1
        for i in range(k["out_g"].shape[2]):
            window = slice(stride * i, stride * i + span, dilation)
            g[:, :, window] = torch.einsum("bo,ock->bck", k["out_g"][:, :, i], k["k"])
        return g

    return rule


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (SPLIT, split(1, 0, 2), "wrong-operand: are swapped"),
        (SPLIT, split(0, 2, 1), "wrong-operand: are swapped"),
        unmended(HOLES, written(0, 1, 2, add=True), "wrong-operand", reason="several slices are moved together"),
        (PLAIN, windows_replaced(), "overwritten: the last window"),
        (SPREAD, windows_replaced(2, 2), "overwritten: the last window"),
        (MAXIMA, winners_replaced, "overwritten: the last window"),
    ],
)
def test_each_slip_in_what_is_cut_out_is_named(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name)


@pytest.mark.parametrize(
    ("answer", "rule", "name"),
    [
        ("b.g", lambda k: k["out_g"].mean(2).sum(0), "mean-for-sum: are averaged"),
    ],
)
def test_each_slip_in_what_all_windows_share_is_named(answer: str, rule: Rule, name: str) -> None:
    assert_named(PLAIN, rule, name, answer)

"""Slips in a function that takes several operations, seen as one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.verdicts import Rule, assert_named

from grader.course.exercise import Exercise, stored
from grader.course.sampling import normal, output

GIVEN = {"x": normal("bs n"), "w": normal("n m"), "out": output()}


def _silu(x: Any) -> Any:
    return x * x.sigmoid()


def _slope(x: Any) -> Any:
    return x.sigmoid() * (1 + x * (1 - x.sigmoid()))


LAYER = Exercise("a layer", lambda x, w: _silu(x @ w).sin(), GIVEN, stored("x.g"))


def layer(slope: Any) -> Rule:
    """The gradient, with something else for the function's derivative, from where it is taken."""

    def rule(v: dict[str, Any]) -> Any:
        z = v["x"] @ v["w"]
        return (slope(v["out_g"] * _silu(z).cos(), z)) @ v["w"].T

    return rule


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (layer(lambda g, z: g), "missing-local: from _silu(x @ w) to `x @ w` unchanged; the operations between"),
        (
            layer(lambda g, z: g * _slope(_silu(z))),
            "wrong-point: silu is taken at _silu(x @ w); it must be taken at `x @ w`",
        ),
        (
            layer(lambda g, z: _silu(g)),
            "wrong-local: silu is applied to the gradient; multiply the gradient by the derivative of this",
        ),
    ],
)
def test_each_slip_has_its_name(rule: Rule, name: str) -> None:
    assert_named(LAYER, rule, name)


DELAYED = Exercise(
    "a delay",
    lambda x, w: torch.nn.functional.pad((x * w).tanh(), (2, 0))[:, :-2].sin(),
    {
        "x": normal("bs n"),
        "w": normal("n"),
        "out": output(),
    },
    stored("x.g"),
)


def delayed_again(v: dict[str, Any]) -> Any:
    def delay(values: Any) -> Any:
        return torch.nn.functional.pad(values, (2, 0))[:, :-2]

    y = (v["x"] * v["w"]).tanh()
    return delay(v["out_g"] * delay(y).cos()) * (1 - y**2) * v["w"]


def test_entries_that_a_function_moves_must_be_moved_back() -> None:
    """There is no derivative that a delay could be multiplied by."""
    assert_named(DELAYED, delayed_again, "wrong-local: what it moves one way must be moved back instead")


KNAPSACK = Exercise(
    "a table",
    lambda x, w: torch.cat([x[:, :2], torch.logaddexp(x[:, 2:], x[:, :-2] * w)], 1),
    {
        "x": normal("bs n"),
        "w": normal("1"),
        "out": output(),
    },
    stored("x.g"),
)


def stored_where_others_were_taken(v: dict[str, Any]) -> Any:
    x, w, g = v["x"], v["w"], v["out_g"]
    share = (x[:, :-2] * w - torch.logaddexp(x[:, 2:], x[:, :-2] * w)).exp()
    gx = g.clone()
    gx[:, 2:] = g[:, 2:] * (1 - share) + g[:, 2:] * share * w
    return gx


def test_entries_stored_elsewhere_are_named_before_a_function_that_is_left_out() -> None:
    assert_named(KNAPSACK, stored_where_others_were_taken, "wrong-operand: is stored at the end along n", "x.g")

"""Slips in a function that takes several operations, seen as one."""

from __future__ import annotations

from typing import Any

import pytest
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
        (layer(lambda g, z: _silu(g)), "wrong-local: silu is applied to the gradient; multiply by its derivative"),
    ],
)
def test_each_slip_has_its_name(rule: Rule, name: str) -> None:
    assert_named(LAYER, rule, name)

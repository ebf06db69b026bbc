"""Slips in gradients that are known by their form, belief less truth, and in difference quotients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from helpers.verdicts import Rule, assert_named

from grader.course.course import Course
from grader.course.exercise import Exercise, Routine, stored
from grader.course.sampling import each_of, indices, normal, number, uniform


def two_classes(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    p = x.sigmoid()
    return -(t * p.log() + (1 - t) * (1 - p).log()).mean()


def classes(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    return (x.logsumexp(-1) - x[range(len(t)), t]).mean()


ROWS = {"x": normal("bs c"), "t": indices("bs", "c")}
TWO = Exercise("two classes", two_classes, {"x": normal("bs"), "t": uniform("bs", 0.0, 1.0)}, stored("x.g"))
MANY = Exercise("classes", classes, ROWS, stored("x.g"))
PICKED = Exercise("picked", lambda x, t: -x[range(len(t)), t].sum(), ROWS, stored("x.g"))
CUBED = Exercise("cubes", lambda x, t: ((x - t) ** 3).sum(), {"x": normal("n"), "t": normal("n")}, stored("x.g"))


def marks(v: dict[str, Any]) -> torch.Tensor:
    return torch.zeros_like(v["x"]).scatter(1, v["t"].unsqueeze(-1), 1.0)


def share(v: dict[str, Any]) -> torch.Tensor:
    return v["x"].softmax(-1)


def curve(v: dict[str, Any]) -> torch.Tensor:
    return v["x"].sigmoid()


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (TWO, lambda v: curve(v) + v["t"], "wrong-sign: t is added"),
        (TWO, lambda v: curve(v) - v["t"].sigmoid(), "wrong-operand: is also applied to t"),
        (TWO, lambda v: (v["x"] > 0) * 1.0 - v["t"], "wrong-local: a hard decision, 0 or 1, is used"),
        (TWO, lambda v: v["x"].tanh() - v["t"], "wrong-local: the tanh of x is used"),
        (TWO, lambda v: 2 * (curve(v) - v["t"]) * curve(v) * (1 - curve(v)),
         "wrong-local: the squared error between `sigmoid(x)`"),
        (MANY, lambda v: share(v) * (share(v) - marks(v)), "extra-factor: multiplied by `softmax(x)`; leave"),
        (MANY, lambda v: share(v) - v["t"].unsqueeze(1), "wrong-operand: the class indices themselves"),
        (MANY, lambda v: marks(v) * (share(v) - 1), "diagonal-only: marked by the one-hot encoding of t"),
        (MANY, lambda v: -marks(v) / share(v), "missing-local: the chain rule stops at `softmax(x)`"),
        (MANY, lambda v: v["x"].tanh() - marks(v), "wrong-local: the tanh of x is used"),
        (PICKED, lambda v: (share(v) - marks(v)) * len(v["x"]), "wrong-local: the softmax of x over the last axis"),
    ],
)  # fmt: skip
def test_a_slip_in_belief_less_truth_is_named(exercise: Exercise, rule: Rule, name: str) -> None:
    count = len if exercise is not TWO else torch.numel

    def divided(v: dict[str, Any]) -> Any:
        return rule(v) / count(v["x"])

    assert_named(exercise, divided, name)


def test_nothing_is_claimed_where_the_gradient_has_another_form() -> None:
    assert_named(CUBED, lambda v: v["x"].tanh() - v["t"], "unknown")


# --- difference quotients ----------------------------------------------------------------------------------------


def without_misconceptions(course: Course, exercise: str) -> Routine:
    """Return an exercise of the course as if its author had declared no mistakes."""
    function = course.find(exercise).function
    assert isinstance(function, Routine)
    return replace(function, misconceptions=())


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        ("slope", lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h), "wrong-point: at x + h and x - h"),
        ("slope", lambda f, x, h: (f(x + h) + f(x)) / h, "wrong-sign"),
        ("slope", lambda f, x, h: (f(x + h) - f(x)) / (x + h), "wrong-operand: x + h"),
        ("slope", lambda f, x, h: (f(x + h) - f(h)) / h, "wrong-point"),
        ("slope", lambda f, x, h: (f(h) - f(x)) / h, "wrong-point"),
        ("slope", lambda f, x, h: (f(x + h) - 2 * f(x) + f(x - h)) / h**2, "wrong-local"),
        ("slope", lambda f, x, h: f(x + 1) - f(x), "hard-coded"),
        ("slope", lambda f, x, h: f(x), "forward-value"),
        ("central_difference", lambda f, x, h: (f(x + h) - f(x)) / h, "wrong-point: at x + h and x"),
        ("central_difference", lambda f, x, h: (f(x + h) + f(x - h)) / (2 * h), "wrong-sign"),
        ("central_difference", lambda f, x, h: f(x), "forward-value"),
    ],
)  # fmt: skip
def test_a_slip_in_a_quotient_is_named(course: Course, exercise: str, rule: Callable[..., Any], name: str) -> None:
    assert_named(without_misconceptions(course, exercise), lambda v: rule(v["f"], v["x"], v["h"]), name)


def measured(f: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, h: float, sets_back: bool) -> torch.Tensor:
    """The gradient of f with central differences; the entries before may keep their steps."""
    gradient, ahead, behind = torch.zeros(x.numel(), dtype=x.dtype), x.clone(), x.clone()
    for i in range(x.numel()):
        if sets_back:
            ahead, behind = x.clone(), x.clone()
        ahead.view(-1)[i] += h
        behind.view(-1)[i] -= h
        gradient[i] = (f(ahead) - f(behind)) / (2 * h)
    return gradient.view(x.shape)


def test_a_step_that_is_never_set_back_moves_all_entries_before(course: Course) -> None:
    function = without_misconceptions(course, "numerical_grad")
    assert_named(
        function,
        lambda v: measured(v["f"], v["x"], v["h"], sets_back=False),
        "wrong-point: never undone",
    )


def test_weights_that_are_multiplied_in_once_more_are_an_extra_factor(course: Course) -> None:
    function = without_misconceptions(course, "numerical_vjp")

    def rule(v: dict[str, Any]) -> torch.Tensor:
        return v["v"] * measured(lambda x: (v["f"](x) * v["v"]).sum(), v["x"], v["h"], sets_back=True)

    assert_named(function, rule, "extra-factor")


def test_what_is_no_difference_quotient_has_no_such_slips() -> None:
    """The right answer is the value of f: nobody has divided a rise by a step."""
    functions = each_of(math.sin, math.exp, math.cosh)
    value = Routine("a value", {"f": functions, "x": number(0.5, 1.5), "h": number(0.1, 0.2)}, lambda f, x, h: f(x))
    for rule in (lambda f, x, h: (f(x + h) - f(x)) / h, lambda f, x, h: (f(x + h) + f(x)) / h):
        assert_named(value, lambda v, rule=rule: rule(v["f"], v["x"], v["h"]), "unknown")

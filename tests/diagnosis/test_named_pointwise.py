"""Slips in operations that work entry by entry, in derivatives written with the output, and in undoing a broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from helpers.verdicts import Rule, assert_named, verdict

from grader.course.exercise import Exercise, returned, stored
from grader.course.sampling import away_from, each_of, mask, normal, number, output, positive, shape, upstream, withheld


def of_x(forward: Callable[..., Any], x: Any = None, **more: Any) -> Exercise:
    return Exercise("", forward, {"x": x or normal("n m"), "out": output(), **more}, stored("x.g"))


CLAMP = of_x(lambda x: x.clamp(-0.5, 1.0), away_from((-0.5, 1.0), "n m"))
RELU = of_x(lambda x: x.clamp_min(0), away_from(0.0, "n m"))
ERF = of_x(lambda x: x.erf())
THIRD_POWER = of_x(lambda x: x**3)
POWER = of_x(lambda x, k: (3 * x / 2 + 1) ** k, k=each_of(3, 2, 1))
TANH = of_x(lambda x: x.tanh())
SIGMOID = of_x(lambda x: x.sigmoid())
ROOT = of_x(lambda x, a: (x * a).sqrt(), positive("n m"), a=positive("m"))
MASKED = of_x(lambda x, kept: x * kept, kept=mask("n m"))
FILLED = of_x(lambda x, kept: x.tanh().masked_fill(kept < 0.5, 0.0), kept=mask("n m"))
CHOSEN = of_x(lambda x, kept: torch.where(kept > 0.5, x.tanh(), 1.0), kept=mask("n m"))
SHIFT = Exercise("", lambda x: x + 2, {"x": normal("n m")}, returned("x"))
SCALED = of_x(lambda x, q: x / (1 - q), q=number(0.1, 0.4))
LEFT, SQUARES, CUBE, CHAIN = (
    Exercise("", forward, {"x": normal("n m")}, returned("x"))
    for forward in (
        lambda x: (2 - 3 * x).sum(),
        lambda x: (x**2).sum(),
        lambda x: ((x + 2) ** 3).sum(),
        lambda x: (3 * (x + 2) ** 2).mean(),
    )
)


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (CLAMP, lambda v: v["out_g"].clamp(-0.5, 1.0), "wrong-local: is applied to the gradient"),
        (
            CLAMP,
            lambda v: ((v["x"] > -0.5) | (v["x"] < 1.0)) * v["out_g"],
            "missing-local: is missing, as if its mask were 1 everywhere",
        ),
        (
            TANH,
            lambda v: 4 * (y := v["x"].sigmoid()) * (1 - y) * v["out_g"],
            "wrong-point: the one at half of x; the function that it is computed from needs an inner factor of 2",
        ),
        (TANH, lambda v: v["out_g"].tanh(), "wrong-local: is applied to the gradient"),
        (RELU, lambda v: v["x"].sign() * v["out_g"], "wrong-local: the derivative of the absolute value"),
        (FILLED, lambda v: (1 - v["x"].tanh() ** 2) * v["out_g"], "missing-local: the mask `kept < 0.5` in the der"),
        (CHOSEN, lambda v: (1 - v["x"].tanh() ** 2) * v["out_g"], "missing-local: the mask `kept > 0.5` in the der"),
        (ERF, lambda v: (-(v["x"] ** 2)).exp() * v["out_g"], "missing-local: 2 / sqrt(pi)"),
        (LEFT, lambda v: 3 * torch.ones_like(v["x"]), "hard-coded"),
        (SCALED, lambda v: v["out_g"] * (1 - v["q"]), "wrong-factor"),
        (TANH, lambda v: v["out_g"] / (1 - v["out"] ** 2), "wrong-local"),
        (TANH, lambda v: v["out_g"] + 1 - v["out"] ** 2, "wrong-local: is added to the derivative"),
        (TANH, lambda v: 1 - (v["out"] * v["out_g"]) ** 2, "not-linear: is squared together with `out`"),
        (SIGMOID, lambda v: v["out"] * (1 - v["out_g"]), "not-linear: 1 minus out.g"),
        (ROOT, lambda v: (0.5 * v["a"]).expand(v["x"].shape), "value-for-gradient: `out` is used in place of out.g"),
        (SHIFT, lambda v: (v["x"] + 2) / v["x"], "wrong-local: divided by x is used in place of the derivative"),
        (MASKED, lambda v: v["out_g"] * (1 - v["kept"]), "inverted-mask: in x.g, the mask is inverted"),
        (SQUARES, lambda v: 2 * v["x"] ** 2, "wrong-local: is not reduced by 1"),
        (THIRD_POWER, lambda v: 3 * v["x"] ** 3 - v["out_g"], "wrong-local: in parentheses"),
        (POWER, lambda v: v["out_g"] * 3 * (3 * v["x"] / 2 + 1), "hard-coded: is assumed to be 2"),
        (CUBE, lambda v: (v["x"] + 2) ** 2, "missing-local"),
        (CUBE, lambda v: 3 * (v["x"] + 2) ** 3, "wrong-local: is not reduced by 1"),
        (CUBE, lambda v: 3 * v["x"] ** 2, "wrong-point"),
    ],
)
def test_each_slip_has_its_code_and_its_operator(exercise: Exercise, rule: Rule, name: str) -> None:
    assert_named(exercise, rule, name)


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (lambda v: 6 * (v["x"] + 2), "sum-for-mean: the gradient through `(3 * (x + 2) ** 2).mean()` is not divided"),
        (lambda v: 2 * (v["x"] + 2) / v["x"].numel(), "missing-local: of `3 * (x + 2) ** 2` is missing"),
        (lambda v: 3 * (v["x"] + 2) / v["x"].numel(), "missing-local: of `(x + 2) ** 2`, the factor 2"),
        (lambda v: 0 * v["x"] + 3 / v["x"].numel(), "missing-local: of `(x + 2) ** 2` is missing"),
        (lambda v: 6 * v["x"] / v["x"].numel(), "wrong-point: of `(x + 2) ** 2` is taken at x"),
        (lambda v: -6 * (v["x"] + 2) / v["x"].numel(), "wrong-sign: the wrong sign"),
        (lambda v: 3 * (v["x"] + 2) ** 2, "forward-value: this is `3 * (x + 2) ** 2`"),
    ],
)
def test_each_dropped_step_of_a_chain_is_told_apart(rule: Rule, name: str) -> None:
    """The design's own example: a dropped mean, factor and power, each named by its operation."""
    assert_named(CHAIN, rule, name)


def test_a_minus_that_is_missing_is_a_wrong_sign() -> None:
    """`2 - x` before a square: the rest of the chain is right, and no derivative is missing."""
    forward = of_x(lambda x: (2 - x) ** 2)
    assert verdict(forward, lambda v: v["out_g"] * 2 * (2 - v["x"])).code == "wrong-sign"


MASKS: dict[str, Callable[..., Any]] = {
    "clamp": lambda x: x.clamp_min(0),
    "relu": lambda x: torch.relu(x),
    "product with a mask": lambda x: x * (x > 0),
    "mask first": lambda x: (x > 0) * x,
    "where": lambda x: torch.where(x > 0, x, 0 * x),
    "masked fill": lambda x: x.masked_fill(x < 0, 0.0),
    "float mask": lambda x: x * (x > 0).double(),
    "maximum": lambda x: torch.maximum(x, torch.zeros_like(x)),
    "detached mask": lambda x: x * (x > 0).double().detach(),
    "functional": lambda x: torch.nn.functional.relu(x),
    "in place": lambda x: x.clone().clamp_(min=0),
}


@pytest.mark.parametrize("spelling", MASKS)
def test_a_relu_is_understood_however_its_forward_pass_is_written(spelling: str) -> None:
    """An author may write a mask as they like: a missing upstream gradient is still named."""
    exercise = of_x(MASKS[spelling], normal("bs n"))
    assert_named(exercise, lambda v: (v["x"] > 0).double(), "missing-upstream: is missing: your code treats it as 1")


# --- derivatives written with the output -------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sigmoid": lambda x: x.sigmoid(),
    "tanh": lambda x: x.tanh(),
    "exp": lambda x: x.exp(),
    "sqrt": lambda x: x.sqrt(),
}
SLOPES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sigmoid": lambda y: y * (1 - y),
    "tanh": lambda y: 1 - y**2,
    "exp": lambda y: y,
    "sqrt": lambda y: 1 / (2 * y),
}
OF = {name: of_x(function, positive("bs n")) for name, function in FUNCTIONS.items()}
SILU = of_x(lambda x: x * x.sigmoid(), normal("bs n"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_input_in_the_outputs_place_is_a_wrong_point(name: str) -> None:

    def rule(v: dict[str, Any]) -> Any:
        return v["out_g"] * SLOPES[name](v["x"])

    assert_named(OF[name], rule, "wrong-point: x is used in place of `out`")


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "exp"])
def test_the_output_in_the_inputs_place_is_a_wrong_point(name: str) -> None:
    """The way round that needs no table: the derivative is taken at out."""

    def rule(v: dict[str, Any]) -> Any:
        return v["out_g"] * SLOPES[name](FUNCTIONS[name](v["out"]))

    assert_named(OF[name], rule, "wrong-point: is taken at `out`; it must be taken at x")


@pytest.mark.parametrize("forward", [lambda x: 1 / x, lambda x: x.reciprocal()])
def test_for_one_over_x_the_two_slips_are_one(forward: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """-x**2 for -y**2 and -1 / y**2 for -1 / x**2 are the same numbers: the derivative taken at out."""
    inverse = of_x(forward, positive("bs n"))
    assert_named(inverse, lambda v: -v["out_g"] * v["x"] ** 2, "wrong-point")


@pytest.mark.parametrize(
    ("function", "rule", "name"),
    [
        (
            "sigmoid",
            lambda v: v["out_g"] * v["out"] - v["out"] ** 2,
            "missing-upstream: does not multiply the square of `out`",
        ),
        ("tanh", lambda v: v["out_g"] - v["out"] ** 2, "missing-upstream: does not multiply the square of `out`"),
        ("tanh", lambda v: 1 - v["out_g"] * v["out"] ** 2, "missing-upstream: only the square of `out`"),
        ("sigmoid", lambda v: v["out_g"] * v["out"] * (1 + v["out"]), "wrong-sign: is added; it must be subtracted"),
        ("tanh", lambda v: v["out_g"] * (1 + v["out"] ** 2), "wrong-sign: is added; it must be subtracted"),
        ("tanh", lambda v: v["out"] * (1 - v["out_g"] ** 2), "wrong-operand: are swapped"),
        ("sigmoid", lambda v: v["out_g"] * v["x"] * (1 - v["out"]), "wrong-point: x is used in one of the two places"),
        ("sigmoid", lambda v: v["out_g"] * v["out"] * (1 - v["x"]), "wrong-point: x is used in one of the two places"),
        ("tanh", lambda v: v["out_g"] * (1 - v["x"] * v["out"]), "wrong-point: x is used in one of the two places"),
        ("tanh", lambda v: v["out_g"] * (1 - v["out"]) ** 2, "wrong-local: only `out` must be squared"),
        ("sigmoid", lambda v: v["out_g"] * (1 - v["out"]), "missing-local: the factor `out` is missing"),
        ("sigmoid", lambda v: v["out_g"] * v["out"] ** 2, "missing-local: the derivative of exp(-x)"),
        ("sigmoid", lambda v: v["out_g"] * (1 - v["out"] ** 2), "wrong-local: the derivative of the tanh"),
        ("tanh", lambda v: v["out_g"] * (1 - v["out"]), "wrong-local: `out` is not squared"),
        ("sqrt", lambda v: v["out_g"] / v["out"], "missing-local: 1/2"),
    ],
)
def test_each_slip_in_such_a_slope_has_its_name(function: str, rule: Rule, name: str) -> None:
    assert_named(OF[function], rule, name)


@pytest.mark.parametrize(("wrong", "name"), [("x", "x"), ("out", "`out`")])
def test_a_form_inside_a_longer_forward_pass_is_understood_too(wrong: str, name: str) -> None:
    """x * sigmoid(x), where the slope of the gate is written with out, or with x."""

    def rule(v: dict[str, Any]) -> Any:
        return v["out_g"] * (v["x"].sigmoid() + v["x"] * v[wrong] * (1 - v[wrong]))

    assert_named(SILU, rule, f"wrong-point: of `x.sigmoid()`, {name} is used")


# --- undoing a broadcast -----------------------------------------------------------------------------------------

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


def largest(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    while g.dim() > x.dim():
        g = g.amax(0)
    for axis in (i for i, size in enumerate(x.shape) if size == 1):
        g = g.amax(axis, keepdim=True)
    return g


def in_front(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return g.sum(tuple(range(g.dim() - x.dim()))) if g.dim() > x.dim() else g


def stretched(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    for axis in range(-x.dim(), 0):
        if x.shape[axis] == 1:
            g = g.sum(axis, keepdim=True)
    return g


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (lambda g, x: g, "missing-batch-sum"),
        (in_front, "missing-batch-sum"),
        (stretched, "missing-batch-sum"),
        (lambda g, x: g.sum().expand(x.shape), "summed-wrong-axis"),
        (largest, "partial-batch"),
        (lambda g, x: g.reshape(-1, x.numel()).sum(0).reshape(x.shape), "reshape-for-transpose"),
    ],
)
def test_each_slip_in_undoing_a_broadcast_is_told_apart(rule: Rule, name: str) -> None:
    assert_named(COPIED, lambda v: rule(v["out_g"], v["x"]), name)


@pytest.mark.parametrize(
    ("exercise", "rule", "name"),
    [
        (PRODUCT, lambda g, a, b: g * b, "missing-batch-sum"),
        (PRODUCT, lambda g, a, b: g.sum_to_size(a.shape), "missing-local"),
        (PRODUCT, lambda g, a, b: (g * a).sum_to_size(a.shape), "wrong-operand: a is used in place of b"),
        (
            PRODUCT,
            lambda g, a, b: (g.sum_to_size(a.shape) * b).sum_to_size(a.shape),
            "sum-of-products",
        ),
        (
            PRODUCT,
            lambda g, a, b: (g * b).sum_to_size(a.shape) * a.numel() / g.numel(),
            "mean-for-sum",
        ),
        (TOTAL, lambda g, a, b: g.sum_to_size(b.shape), "wrong-operand"),
        (TOTAL, lambda g, a, b: g.sum_to_size(a.shape) * a, "extra-factor: has an extra factor"),
    ],
)
def test_a_broadcast_is_understood_whichever_axes_it_adds(exercise: Exercise, rule: Rule, name: str) -> None:
    """The two shapes differ in every trial, and so do the axes to sum over."""
    assert_named(exercise, lambda v: rule(v["out_g"], v["a"], v["b"]), name)


@pytest.mark.parametrize(
    ("forward", "factor", "says"),
    [
        (lambda x: (3 * x**2 + 1) ** 2, 1 / 2,
         "in the derivative of `x**2` or `(3 * x**2 + 1) ** 2`, the factor 2 is missing"),
        (lambda x: ((x**2) ** 2 + 3) ** 2, 1 / 2,
         "in the derivative of `x**2`, `(x**2) ** 2` or `((x**2) ** 2 + 3) ** 2`, the factor 2 is missing"),
        (lambda x: (x**2 + 1) ** 2, 2,
         "in the derivative of `x**2` or `(x**2 + 1) ** 2`, the factor 2 is there twice"),
        (lambda x: 2 * (2 * x).sin(), 1 / 2,
         "the factor 2 in the derivative of `2 * x` or the factor 2 in the derivative of `2 * (2 * x).sin()` is"
         " missing"),
        (lambda x: 3 * x**3, 1 / 3,
         "the factor 3 in the derivative of `3 * x**3` is missing, or in the derivative of `x**3`, the factor 3 is"
         " missing"),
        (lambda x: ((x / 2).tanh() + 2).sqrt(), 2, "the division by 2 in the derivative of `x / 2` is missing, or"),
    ],
)  # fmt: skip
def test_a_number_that_several_operations_have_is_said_of_all_of_them(
    forward: Callable[..., Any], factor: float, says: str
) -> None:
    """The numbers are the same whichever operation lacks its factor, so the sentence does not choose one."""
    found = verdict(of_x(forward), lambda v: v["right"] * factor)
    assert says in found.says
    assert found.says.endswith(("; the two give the same numbers", "; all of them give the same numbers"))


def test_a_number_that_one_operation_has_is_said_of_that_one() -> None:
    """A 3 and a 2 are told apart."""
    found = verdict(of_x(lambda x: (3 * x**2 + 1) ** 2), lambda v: v["right"] / 3)
    assert found.says == "the factor 3 in the derivative of `3 * x**2` is missing"

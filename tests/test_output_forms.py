"""Derivatives written with the output: y (1 - y), and what comes out when y is something else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from test_graph_faults import Rule, verdict

from grader.diagnosis.output_forms import FORMS
from grader.exercise import Exercise, stored
from grader.reference.operation_recorder import record
from grader.sampling import normal, output, positive

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


def exercise(name: str) -> Exercise:
    return Exercise(name, FUNCTIONS[name], {"x": positive("bs n"), "out": output()}, stored("x.g"))


def test_each_form_is_the_derivative_that_torch_knows() -> None:
    for function in FUNCTIONS.values():
        x = torch.linspace(0.3, 2.0, 7, dtype=torch.float64, requires_grad=True)
        y = function(x)
        (right,) = torch.autograd.grad(y.sum(), x)
        (step,) = record(function, {"x": x.detach()}, torch.ones_like(x)).steps
        torch.testing.assert_close(sum(FORMS[step.name](y.detach(), y.detach())), right)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_input_in_the_outputs_place_is_a_wrong_point(name: str) -> None:
    said = verdict(exercise(name), lambda v: v["out_g"] * SLOPES[name](v["x"]))
    assert said.code == "wrong-point"
    assert "is written for its output, but x stands in the output's place" in said.says


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "exp"])
def test_the_output_in_the_inputs_place_is_a_wrong_point(name: str) -> None:
    """The way round that needs no table: the derivative is taken at out."""
    said = verdict(exercise(name), lambda v: v["out_g"] * SLOPES[name](FUNCTIONS[name](v["out"])))
    assert said.code == "wrong-point"


@pytest.mark.parametrize("forward", [lambda x: 1 / x, lambda x: x.reciprocal()])
def test_for_one_over_x_the_two_slips_are_one(forward: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """-x**2 for -y**2 and -1 / y**2 for -1 / x**2 are the same numbers: the derivative taken at out."""
    inverse = Exercise("1 / x", forward, {"x": positive("bs n"), "out": output()}, stored("x.g"))
    said = verdict(inverse, lambda v: -v["out_g"] * v["x"] ** 2)
    assert (said.code, "is taken at out instead of x" in said.says) == ("wrong-point", True)


@pytest.mark.parametrize(
    ("name", "rule", "code"),
    [
        ("sigmoid", lambda v: v["out_g"] * v["out"] - v["out"] ** 2, "missing-upstream"),
        ("tanh", lambda v: v["out_g"] - v["out"] ** 2, "missing-upstream"),
        ("tanh", lambda v: 1 - v["out_g"] * v["out"] ** 2, "missing-upstream"),
        ("sigmoid", lambda v: v["out_g"] * v["out"] * (1 + v["out"]), "wrong-sign"),
        ("tanh", lambda v: v["out_g"] * (1 + v["out"] ** 2), "wrong-sign"),
        ("tanh", lambda v: v["out"] * (1 - v["out_g"] ** 2), "wrong-operand"),
        ("sigmoid", lambda v: v["out_g"] * v["x"] * (1 - v["out"]), "wrong-point"),
        ("sigmoid", lambda v: v["out_g"] * v["out"] * (1 - v["x"]), "wrong-point"),
        ("tanh", lambda v: v["out_g"] * (1 - v["x"] * v["out"]), "wrong-point"),
        ("tanh", lambda v: v["out_g"] * (1 - v["out"]) ** 2, "wrong-local"),
        ("sigmoid", lambda v: v["out_g"] * (1 - v["out"]), "missing-local"),
        ("sigmoid", lambda v: v["out_g"] * v["out"] ** 2, "missing-local"),
        ("sigmoid", lambda v: v["out_g"] * (1 - v["out"] ** 2), "wrong-local"),
        ("tanh", lambda v: v["out_g"] * (1 - v["out"]), "wrong-local"),
        ("sqrt", lambda v: v["out_g"] / v["out"], "missing-local"),
    ],
)
def test_each_slip_in_such_a_slope_has_its_code(name: str, rule: Rule, code: str) -> None:
    assert verdict(exercise(name), rule).code == code


def test_a_form_inside_a_longer_forward_pass_is_understood_too() -> None:
    """x * sigmoid(x), where the slope of the gate is written with out, or with x."""
    silu = Exercise("silu", lambda x: x * x.sigmoid(), {"x": normal("bs n"), "out": output()}, stored("x.g"))
    for wrong, name in (("x", "x"), ("out", "out")):
        said = verdict(silu, lambda v: v["out_g"] * (v["x"].sigmoid() + v["x"] * v[wrong] * (1 - v[wrong])))
        assert (said.code, f"but {name} stands in the output's place" in said.says) == ("wrong-point", True)

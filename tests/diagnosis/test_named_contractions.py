"""Slips in sums of products: a linear layer, however its forward pass is written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from helpers.verdicts import Rule, assert_named, verdict

from grader.course.exercise import Exercise, returned_jacobian, stored
from grader.course.sampling import accumulating, normal, output

GIVEN = {"inp": normal("bs n"), "out": output(), "w": normal("n m"), "b": normal("m")}
LINEAR = Exercise("inp @ w + b", lambda inp, w, b: inp @ w + b, GIVEN, stored("inp.g", "w.g", "b.g"))


@pytest.mark.parametrize(
    ("answer", "rule", "name"),
    [
        (
            "inp.g",
            lambda v: torch.ones_like(v["out_g"]) @ v["w"].T,
            "missing-upstream: is missing: your code treats it as 1",
        ),
        ("inp.g", lambda v: v["out"] @ v["w"].T, "value-for-gradient"),
        ("inp.g", lambda v: v["out_g"] @ v["w"].reshape(v["w"].T.shape), "reshape-for-transpose: w is reshaped"),
        ("inp.g", lambda v: v["out_g"] @ torch.linalg.pinv(v["w"]), "inverse-for-transpose: the pseudo-inverse of w"),
        ("w.g", lambda v: v["out_g"].T @ v["inp"], "transposed"),
        ("w.g", lambda v: v["inp"].T @ v["out_g"] / len(v["inp"]), "mean-for-sum: every entry is 1/"),
        (
            "w.g",
            lambda v: outer(v["inp"].sum(0), v["out_g"].sum(0)),
            "sum-of-products: both factors are summed",
        ),
        ("w.g", lambda v: outer(v["inp"][0], v["out_g"][0]), "partial-batch: only the first of its terms"),
        ("w.g", lambda v: v["inp"].unsqueeze(-1) * v["out_g"].unsqueeze(1), "missing-batch-sum: not summed over bs"),
        ("w.g", lambda v: v["w"], "forward-value"),
        ("b.g", lambda v: v["out_g"].sum(1), "summed-wrong-axis: the sum runs over m; it must run over bs"),
        ("b.g", lambda v: v["out_g"], "missing-batch-sum"),
        ("b.g", lambda v: v["out_g"].mean(0), "mean-for-sum: every entry is 1/"),
        ("b.g", lambda v: v["out"].sum(0), "value-for-gradient"),
        ("b.g", lambda v: v["out_g"][0], "partial-batch: only the first of its terms"),
        ("b.g", lambda v: v["out_g"].amax(0), "partial-batch: only the largest"),
        ("b.g", lambda v: -v["out_g"].sum(0), "wrong-sign: the wrong sign"),
    ],
)
def test_each_slip_in_a_linear_layer_has_its_name(answer: str, rule: Rule, name: str) -> None:
    assert_named(LINEAR, rule, name, answer)


def outer(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.outer(a, b)


@pytest.mark.parametrize("turned", ["x", "out_g"])
def test_rows_that_do_not_belong_together_are_named(turned: str) -> None:
    """Both factors are flattened to one axis of rows, one of them in another order."""
    inputs = {"x": normal("bs t n"), "w": normal("n m"), "out": output()}
    exercise = Exercise("one more axis", lambda x, w: x @ w, inputs, stored("w.g"))

    def rule(v: dict[str, Any], *, turned: str) -> torch.Tensor:
        rows = {name: v[name].transpose(0, 1) if name == turned else v[name] for name in ("x", "out_g")}
        return rows["x"].flatten(0, 1).T @ rows["out_g"].flatten(0, 1)

    assert_named(exercise, partial(rule, turned=turned), "reshape-for-transpose")


LAYERS: dict[str, Callable[..., Any]] = {
    "operators": lambda inp, w, b: inp @ w + b,
    "addmm": lambda inp, w, b: torch.addmm(b, inp, w),
    "linear": lambda inp, w, b: torch.nn.functional.linear(inp, w.t(), b),
    "einsum": lambda inp, w, b: torch.einsum("ij,jk->ik", inp, w) + b,
    "keyword": lambda inp, w, b: torch.matmul(inp, other=w) + b,
    "in place": lambda inp, w, b: (inp @ w).add_(b),
    "rows": lambda inp, w, b: torch.stack([row @ w + b for row in inp]),
    "one matrix": (lambda inp, w, b: torch.cat([inp, torch.ones_like(inp[:, :1])], 1) @ torch.cat([w, b[None]])),
}


@pytest.mark.parametrize("spelling", LAYERS)
def test_a_layer_is_understood_however_its_forward_pass_is_written(spelling: str) -> None:
    """An averaged weight gradient is named, by the graph or by the ratio."""
    exercise = Exercise(LINEAR.title, LAYERS[spelling], LINEAR.inputs, LINEAR.answers)
    assert_named(exercise, lambda v: v["inp"].T @ v["out_g"] / len(v["inp"]), "mean-for-sum", "w.g")


def test_a_jacobian_has_mistakes_too() -> None:
    exercise = Exercise("w x", lambda w, x: w @ x, {"w": normal("m n"), "x": normal("n")}, returned_jacobian("x"))
    assert_named(exercise, lambda v: v["w"].T, "transposed")


def test_a_mistake_on_top_of_an_earlier_gradient_is_still_named() -> None:
    """With a `.g` that was there before, the numbers of a mistake are what it adds to that."""
    inputs = {"x": normal("bs n"), "out": output(), "b": accumulating(normal("n"))}
    exercise = Exercise("b + x", lambda x, b: x + b, inputs, stored("b.g"))

    def rule(v: dict[str, Any]) -> torch.Tensor:
        return v["right"] - v["out_g"].numpy().sum(0) + v["out_g"].numpy().mean(0)

    assert verdict(exercise, rule, seed=3).code == "mean-for-sum"

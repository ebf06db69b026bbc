"""Slips in sums of products: a linear layer, however its forward pass is written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from verdicts import Rule, named, verdict

from grader.exercise import Exercise, returned_jacobian, stored
from grader.sampling import accumulating, normal, output

GIVEN = {"inp": normal("bs n"), "out": output(), "w": normal("n m"), "b": normal("m")}
LINEAR = Exercise("inp @ w + b", lambda inp, w, b: inp @ w + b, GIVEN, stored("inp.g", "w.g", "b.g"))


@pytest.mark.parametrize(
    ("answer", "rule", "name"),
    [
        ("inp.g", lambda v: torch.ones_like(v["out_g"]) @ v["w"].T, "missing-upstream: upstream-missing"),
        ("inp.g", lambda v: v["out"] @ v["w"].T, "value-for-gradient: value-for-gradient"),
        ("inp.g", lambda v: v["out_g"] @ v["w"].reshape(v["w"].T.shape), "reshape-for-transpose: factor-reshaped"),
        ("inp.g", lambda v: v["out_g"] @ torch.linalg.pinv(v["w"]), "inverse-for-transpose: inverse-for-transpose"),
        ("w.g", lambda v: v["out_g"].T @ v["inp"], "transposed: transposed"),
        ("w.g", lambda v: v["inp"].T @ v["out_g"] / len(v["inp"]), "mean-for-sum: mean-of-terms"),
        ("w.g", lambda v: outer(v["inp"].sum(0), v["out_g"].sum(0)), "sum-of-products: factors-summed-first"),
        ("w.g", lambda v: outer(v["inp"][0], v["out_g"][0]), "partial-batch: only-some-terms"),
        ("w.g", lambda v: v["inp"].unsqueeze(-1) * v["out_g"].unsqueeze(1), "missing-batch-sum: products-not-summed"),
        ("w.g", lambda v: v["w"], "forward-value: input-itself"),
        ("b.g", lambda v: v["out_g"].sum(1), "summed-wrong-axis: summed-over-others"),
        ("b.g", lambda v: v["out_g"], "missing-batch-sum: axes-not-summed"),
        ("b.g", lambda v: v["out_g"].mean(0), "mean-for-sum: mean-of-terms"),
        ("b.g", lambda v: v["out"].sum(0), "value-for-gradient: value-for-gradient"),
        ("b.g", lambda v: v["out_g"][0], "partial-batch: only-some-terms"),
        ("b.g", lambda v: v["out_g"].amax(0), "partial-batch: only-largest-term"),
        ("b.g", lambda v: -v["out_g"].sum(0), "wrong-sign: negated"),
    ],
)
def test_each_slip_in_a_linear_layer_has_its_name(answer: str, rule: Rule, name: str) -> None:
    assert named(LINEAR, rule, answer) == name


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

    assert named(exercise, partial(rule, turned=turned)) == "reshape-for-transpose: rows-in-another-order"


LAYERS: dict[str, tuple[Callable[..., Any], str]] = {
    "operators": (lambda inp, w, b: inp @ w + b, "mean-of-terms"),
    "addmm": (lambda inp, w, b: torch.addmm(b, inp, w), "factor-divided"),
    "linear": (lambda inp, w, b: torch.nn.functional.linear(inp, w.t(), b), "factor-divided"),
    "einsum": (lambda inp, w, b: torch.einsum("ij,jk->ik", inp, w) + b, "mean-of-terms"),
    "keyword": (lambda inp, w, b: torch.matmul(inp, other=w) + b, "mean-of-terms"),
    "in place": (lambda inp, w, b: (inp @ w).add_(b), "mean-of-terms"),
    "rows": (lambda inp, w, b: torch.stack([row @ w + b for row in inp]), "factor-divided"),
    "one matrix": (
        lambda inp, w, b: torch.cat([inp, torch.ones_like(inp[:, :1])], 1) @ torch.cat([w, b[None]]),
        "mean-of-terms",
    ),
}


@pytest.mark.parametrize("spelling", LAYERS)
def test_a_layer_is_understood_however_its_forward_pass_is_written(spelling: str) -> None:
    """An averaged weight gradient is named, by the graph or by the ratio."""
    forward, name = LAYERS[spelling]
    exercise = Exercise(LINEAR.title, forward, LINEAR.inputs, LINEAR.answers)
    assert named(exercise, lambda v: v["inp"].T @ v["out_g"] / len(v["inp"]), "w.g") == f"mean-for-sum: {name}"


def test_a_jacobian_has_mistakes_too() -> None:
    exercise = Exercise("w x", lambda w, x: w @ x, {"w": normal("m n"), "x": normal("n")}, returned_jacobian("x"))
    assert named(exercise, lambda v: v["w"].T) == "transposed: transposed"


def test_a_mistake_on_top_of_an_earlier_gradient_is_still_named() -> None:
    """With a `.g` that was there before, the numbers of a mistake are what it adds to that."""
    inputs = {"x": normal("bs n"), "out": output(), "b": accumulating(normal("n"))}
    exercise = Exercise("b + x", lambda x, b: x + b, inputs, stored("b.g"))

    def rule(v: dict[str, Any]) -> torch.Tensor:
        return v["right"] - v["out_g"].numpy().sum(0) + v["out_g"].numpy().mean(0)

    assert verdict(exercise, rule, seed=3).code == "mean-for-sum"

"""Answers that are partly right: one path off by a factor, another mask, something where nothing should be."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch
from test_graph_faults import Rule, verdict

from grader.exercise import Exercise, returned, returned_jacobian, stored
from grader.sampling import away_from, normal, number, output

TWO = Exercise("x sin(x) + x**3", lambda x: x * x.sin() + x**3, {"x": normal("n m"), "out": output()}, stored("x.g"))
MEAN = Exercise("mean of x sin(x)", lambda x: (x * x.sin()).mean(), {"x": normal("n m")}, returned("x"))
SCALED = Exercise(
    "q x + x**2", lambda x, q: q * x + x**2, {"x": normal("n m"), "out": output(), "q": number(2, 3)}, stored("x.g")
)
RELU = Exercise(
    "relu", lambda x: x.clamp_min(0), {"x": away_from((-1.0, 0.0, 1.0), "n m"), "out": output()}, stored("x.g")
)


@pytest.mark.parametrize(
    ("exercise", "rule", "code", "says"),
    [
        (TWO, lambda v: v["out_g"] * (slope(v["x"]) + 6 * v["x"] ** 2), "wrong-factor", "through `** 3` is 2 times"),
        (TWO, lambda v: v["out_g"] * (slope(v["x"]) + v["x"] ** 2 / 2), "wrong-factor", "through `** 3` is 1/6 times"),
        (TWO, lambda v: v["out_g"] * (0.3 * slope(v["x"]) + 3 * v["x"] ** 2), "wrong-factor", "`*` is 3/10 times"),
        (
            MEAN,
            lambda v: (v["x"].sin() / len(v["x"]) + v["x"] * v["x"].cos() / v["x"].numel()),
            "sum-for-mean",
            "the path through `*` is",
        ),
        (SCALED, lambda v: v["out_g"] * (7 + 2 * v["x"]), "hard-coded", "a number is typed in; q is"),
    ],
)  # fmt: skip
def test_a_factor_on_one_path_is_found_and_decoded(exercise: Exercise, rule: Rule, code: str, says: str) -> None:
    """Whatever the factor is: nobody has to foresee it."""
    said = verdict(exercise, rule)
    assert said.code == code
    assert says in said.says


def slope(x: torch.Tensor) -> torch.Tensor:
    """of x sin(x)"""
    return x.sin() + x * x.cos()


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (lambda v: (v["x"] > 1) * v["out_g"], "is blocked, and must be let through"),
        (lambda v: (v["x"] > -1) * v["out_g"], "is let through, and must be blocked"),
        (lambda v: (v["x"].abs() < 1) * v["out_g"], "the mask is another one: x["),
    ],
)
def test_a_mask_of_any_other_kind_is_shown_at_an_entry_where_it_is_wrong(rule: Rule, says: str) -> None:
    said = verdict(RELU, rule)
    assert (said.code, says in said.says) == ("wrong-local", True), said.says


def test_the_entry_that_is_shown_is_one_whose_gate_is_wrong() -> None:
    said = verdict(RELU, lambda v: (v["x"] > 1) * v["out_g"]).says
    assert 0 < float(said.split(" = ")[1].split(" is ")[0]) < 1


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (lambda v: torch.where(v["x"] > 0, v["out_g"], 0.01 * v["out_g"]), "there it never is"),
        (lambda v: torch.where(v["x"] > 0, v["out_g"], v["x"]), "there it never is"),
        (lambda v: torch.where(v["x"] > -1, (v["x"] > 0) * v["out_g"], 7 * v["out_g"]), "entries are not"),
    ],
)
def test_what_should_be_zero_and_is_not_is_said(rule: Rule, says: str) -> None:
    """Also where it is so little that the answer is nearly right."""
    said = verdict(RELU, rule)
    assert said.code == "wrong-local"
    assert said.says.startswith("it is right except where it must be 0")
    assert says in said.says


COSINE = Exercise("cos", lambda x: x.cos(), {"x": normal("n m"), "out": output()}, stored("x.g"))
RUNNING = Exercise("softmax", lambda x: x.softmax(-1), {"x": normal("bs c"), "out": output()}, stored("x.g"))


def test_any_other_slope_is_shown_beside_the_right_one() -> None:
    """The upstream gradient is used entry by entry, as it must be: what multiplies it is the local derivative."""
    said = verdict(COSINE, lambda v: v["out_g"] * (v["x"] ** 3 - 1))
    assert said.code == "wrong-local"
    at, right, used = (float(text) for text in re.findall(r"(?:= |is |not )(-?[\d.]+)", said.says.split("slope", 1)[1]))
    assert right == pytest.approx(-math.sin(at), abs=0.02)
    assert used == pytest.approx(at**3 - 1, abs=0.05)


def test_an_answer_that_stays_the_same_lacks_the_upstream_gradient_whatever_else_is_wrong() -> None:
    said = verdict(COSINE, lambda v: v["x"] ** 3 - 1)
    assert (said.code, "another out.g" in said.says) == ("missing-upstream", True)


def test_an_answer_that_uses_only_its_own_upstream_entry_is_diagonal_where_outputs_mix() -> None:
    said = verdict(RUNNING, lambda v: v["out_g"] * (v["x"] ** 3 - 1))
    assert said.code == "diagonal-only"


@pytest.mark.parametrize(
    "rule",
    [
        lambda v: v["out_g"] ** 3 * v["x"],
        lambda v: v["out_g"] * v["x"] + 0.3,
        lambda v: v["out_g"].sum(-1, keepdim=True) * v["x"] ** 3,
    ],
)
def test_of_anything_else_nothing_is_claimed(rule: Rule) -> None:
    assert verdict(COSINE, rule).code == "unknown"


def test_a_measured_answer_is_still_called_imprecise() -> None:
    """Zeros and masks are looked at first, but a finite difference is neither."""
    noise = torch.from_numpy(1 + 1e-3 * np.sin(np.arange(400.0)))
    said = verdict(RELU, lambda v: v["out_g"] * (v["x"] > 0) * noise[: v["x"].numel()].view(v["x"].shape))
    assert said.code == "imprecise"


def test_another_mask_in_a_jacobian_is_told_by_its_own_entry() -> None:
    shifted = Exercise("x + b", lambda x, b: x + b, {"x": normal("m"), "b": normal("m")}, returned_jacobian("b"))
    said = verdict(shifted, lambda v: torch.eye(len(v["b"]), dtype=torch.float64).flip(0))
    assert said.code == "wrong-local"
    assert re.search(r"entry \[\d,\d\] is (let through|blocked)", said.says)

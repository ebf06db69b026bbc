"""Relations to the right answer that need no forward pass: transposes, sums, and what was stored before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.hand_made import Change, samples_of
from helpers.verdicts import Rule, assert_named, told, verdict

from grader.course.exercise import Exercise, Routine, returned, returned_jacobian, stored
from grader.course.sampling import accumulating, normal, number, output
from grader.diagnosis.diagnose import find_mistakes

WAVES = Exercise("waves", lambda w: w.sin(), {"w": normal("bs n"), "out": output()}, stored("w.g"))


def row(r: np.ndarray) -> Any:
    """Return which entries of an array are in its first place."""
    return np.arange(r.size).reshape(r.shape) == 0


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (lambda v: -v["right"], "wrong-sign"),
        (lambda v: v["right"].T, "transposed"),
        (lambda v: v["right"].T.reshape(v["right"].shape), "reshape-for-transpose"),
        (lambda v: v["right"].sum(0), "extra-batch-sum"),
        (lambda v: v["right"].mean(0, keepdims=True), "extra-batch-sum"),
        (lambda v: np.broadcast_to(v["right"].sum(0), v["right"].shape), "extra-batch-sum"),
        (lambda v: np.broadcast_to(v["right"].mean(), v["right"].shape), "extra-batch-sum"),
        (lambda v: np.concatenate([v["right"][:1], 0 * v["right"][1:]]), "partial-batch"),
        (lambda v: np.concatenate([v["right"][:-1], 0 * v["right"][-1:]]), "partial-batch"),
        (lambda v: 0 * v["right"] + v["right"][-1:], "partial-batch"),
        (lambda v: np.where(row(v["right"]), 0, v["right"]), "partial-batch"),
        (lambda v: np.where(row(v["right"]), v["right"], 0), "partial-batch"),
        (lambda v: v["out_g"], "missing-local"),
        (lambda v: v["out"], "forward-value"),
        (lambda v: v["w"], "forward-value"),
    ],
)
def test_each_relation_to_the_right_answer_is_named(rule: Rule, name: str) -> None:
    assert_named(WAVES, rule, name)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda t, r: -r, "wrong-sign"),
        (lambda t, r: r.T, "transposed"),
        (lambda t, r: r.T.reshape(r.shape), "reshape-for-transpose"),
        (lambda t, r: r.sum(0), "extra-batch-sum"),
        (lambda t, r: np.concatenate([r[:1], 0 * r[1:]]), "partial-batch"),
        (lambda t, r: np.where(row(r), r, 0), "partial-batch"),
    ],
)
def test_it_is_named_without_any_forward_pass_too(change: Change, code: str) -> None:
    """A routine has nothing to derive: what it returns is compared with the right value alone."""
    routine = Routine("nothing to derive", {"w": normal("bs n")}, lambda w: w)
    (answer,) = routine.answers
    given = [
        sample._replace(trial=replace(sample.trial, expected={answer.name: sample.expected}))
        for sample in samples_of(change)
    ]
    assert find_mistakes(routine, {answer.name: given})[answer.name].code == code


def test_a_jacobian_has_its_diagonal_among_them() -> None:
    square = Exercise("square", lambda x: (x @ x) * x, {"x": normal("n")}, returned_jacobian("x"))
    assert_named(square, lambda v: np.diagonal(v["right"]), "diagonal-only")


def test_the_number_of_the_answer_in_the_places_of_its_zeros_is_an_inverted_mask() -> None:
    gate = Exercise("a gate", lambda x: -0.5 * x.clamp_min(0).sum(), {"x": normal("bs n")}, returned("x"))
    assert_named(gate, lambda v: -0.5 * (v["x"] <= 0), "inverted-mask")


@pytest.mark.xfail(strict=True, reason="a number that is added behind everything")
def test_a_factor_that_has_become_a_summand_is_a_wrong_operand() -> None:
    inputs = {"w": normal("bs n"), "q": number(0.3, 0.7), "out": output()}
    scaled = Exercise("scaled", lambda w, q: w.sin() * q, inputs, stored("w.g"))
    assert_named(scaled, lambda v: v["out_g"] * v["w"].cos() + v["q"], "wrong-operand")


# --- what was stored before --------------------------------------------------------------------------------------

LAYER = Exercise(
    "a layer",
    lambda x, w, b: x @ w + b,
    {"x": normal("bs n"), "w": accumulating(normal("n m")), "b": normal("m"), "out": output()},
    stored("w.g", "b.g"),
)


def stored_as(with_before: Any, without: Any = lambda new: new) -> Rule:
    """`with_before` of the new gradient and the old, `without` of the new one where there was none."""

    def rule(v: dict[str, Any]) -> np.ndarray:
        before = v["before"]
        found = without(v["right"]) if before is None else with_before(v["right"] - before, before, np.asarray(v["w"]))
        return np.asarray(found)

    return rule


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (stored_as(lambda new, old, w: new), "overwritten: is lost"),
        (stored_as(lambda new, old, w: old), "overwritten: is unchanged"),
        (stored_as(lambda new, old, w: new - old), "wrong-sign: is subtracted"),
        (stored_as(lambda new, old, w: (new + old) / 2), "mean-for-sum: the mean of"),
        (stored_as(lambda new, old, w: new + old, lambda new: 2 * new), "wrong-factor"),
        (stored_as(lambda new, old, w: 0.1 * new + 0.9 * old), "wrong-factor"),
        (stored_as(lambda new, old, w: new + 0.9 * old), "wrong-factor"),
        (stored_as(lambda new, old, w: -0.1 * new + old), "wrong-factor"),
    ],
)
def test_each_way_to_add_wrongly_has_its_own_name(rule: Rule, name: str) -> None:
    assert_named(LAYER, rule, name)


def test_what_is_added_to_the_variable_itself_is_named() -> None:
    def rule(v: dict[str, Any]) -> Any:
        before = 0 if v["before"] is None else v["before"]
        return v["right"] - before + v["w"].numpy()

    assert_named(LAYER, rule, "overwritten: w")


@pytest.mark.parametrize(("weights", "new", "before"), [((0.1, 0.9), "0.1", "0.9"), ((-0.1, 1.0), "-0.1", "1")])
def test_old_and_new_are_told_with_weights_of_their_own(weights: tuple[float, float], new: str, before: str) -> None:
    """As in a running average, a momentum, a step of training."""
    said = verdict(LAYER, stored_as(lambda n, old, w: weights[0] * n + weights[1] * old))
    assert told(said) == {"new": new, "before": before}


def test_where_nothing_was_stored_there_is_nothing_to_say() -> None:
    assert "before" not in verdict(LAYER, lambda v: 0.1 * v["right"], "b.g").says


# --- something astray, and products ------------------------------------------------------------------------------

PLAIN = Exercise(LAYER.title, LAYER.forward, {**LAYER.inputs, "w": normal("n m")}, stored("w.g", "b.g", "x.g"))


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (lambda v: v["right"] + v["w"].numpy(), "wrong-local"),
        (lambda v: v["w"].numpy() - v["right"], "wrong-local"),
        (lambda v: v["right"] * v["b"].numpy(), "wrong-local: as if it were a product"),
        (lambda v: np.abs(v["right"]), "wrong-sign"),
        (lambda v: np.clip(v["right"], -1, 1), "not-linear"),
        (lambda v: 0 * v["right"] + v["right"].mean(1, keepdims=True), "summed-wrong-axis"),
    ],
)
def test_what_is_astray_is_named(rule: Rule, name: str) -> None:
    assert_named(PLAIN, rule, name)


def test_nothing_is_astray_in_any_other_answer() -> None:
    assert_named(PLAIN, lambda v: v["right"] ** 2 + 1, "unknown")


@pytest.mark.parametrize(
    ("rule", "answer", "formula"),
    [
        (lambda v: v["w"].numpy() * v["b.g"], "w.g", "w * b.g"),
        (lambda v: v["x"].T @ v["out"], "w.g", "`out` is used in place of out.g"),
        (lambda v: (v["out"] * v["out_g"]).sum(0), "b.g", "has an extra factor, `out`"),
        (lambda v: v["w.g"].sum(0), "b.g", "w.g.sum(0)"),
        (lambda v: v["w"].mean(0), "b.g", "w.mean(0)"),
        (lambda v: v["b"] ** 2, "b.g", "b * b"),
    ],
)
def test_a_product_is_spelt_out(rule: Rule, answer: str, formula: str) -> None:
    assert formula in verdict(PLAIN, rule, answer).says


def test_what_is_no_product_is_not_spelt_out() -> None:
    assert_named(PLAIN, lambda v: v["w"] ** 3, "unknown")


@pytest.mark.parametrize("rule", [
    lambda v: of_sine(v).permute(1, 0, 2).reshape(of_sine(v).shape),
    lambda v: of_sine(v).reshape(of_sine(v).permute(2, 0, 1).shape).permute(1, 2, 0),
])  # fmt: skip
def test_entries_read_with_the_axes_in_another_order_are_named(rule: Rule) -> None:
    inputs = {"x": normal("c n m"), "out": output()}
    exercise = Exercise("", lambda x: x.sin(), inputs, stored("x.g"))
    assert_named(exercise, rule, "reshape-for-transpose")


def of_sine(v: dict[str, Any]) -> Any:
    return v["out_g"] * v["x"].cos()

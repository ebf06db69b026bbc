"""Relations to the right answer that need no graph: transposes, sums, other entries, and what was stored before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hand_made import ANSWER, Change, pairs, trials
from verdicts import Rule, named, pairs_of, problem_of, told, verdict

from grader.diagnosis.facts import Pair
from grader.diagnosis.operator import Operator
from grader.diagnosis.right_answer import MOVED, PRIOR, PRODUCTS, RIGHT_ANSWER, STRAYS
from grader.exercise import Answer, Exercise, stored
from grader.reference.answer_view import End
from grader.reference.trial import IMPOSSIBLE
from grader.sampling import accumulating, normal, output


def matching(given: list[Pair], operators: tuple[Operator, ...], answer: Answer = ANSWER) -> set[str]:
    """Every operator, with its code, that gives these arrays in all trials."""
    end, found = End(answer, given[0][0]), set()
    for operator in operators:
        for chosen in operator.each(end) if operator.when(end) else ():
            try:
                with np.errstate(all="ignore"):  # as in the search: inputs hold exact zeros
                    computed = [np.asarray(operator.rule(End(answer, trial), **chosen)) for trial, _ in given]
            except IMPOSSIBLE:
                continue
            if all(c.shape == a.shape and np.allclose(c, a) for c, (_, a) in zip(computed, given, strict=True)):
                found.add(f"{operator.code}: {operator.name}")
    return found


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda t, r: -r, "wrong-sign: negated"),
        (lambda t, r: r.T, "transposed: transposed"),
        (lambda t, r: r.T.reshape(r.shape), "reshape-for-transpose: transpose-reshaped"),
        (lambda t, r: r.sum(0), "extra-batch-sum: summed-over-batch"),
        (lambda t, r: r.mean(0, keepdims=True), "extra-batch-sum: summed-over-batch"),
        (lambda t, r: np.broadcast_to(r.sum(0), r.shape), "extra-batch-sum: summed-over-batch"),
        (lambda t, r: np.broadcast_to(r.mean(), r.shape), "extra-batch-sum: summed-over-batch"),
        (lambda t, r: np.concatenate([r[:1], 0 * r[1:]]), "partial-batch: only-some-examples"),
        (lambda t, r: np.concatenate([r[:-1], 0 * r[-1:]]), "partial-batch: only-some-examples"),
        (lambda t, r: 0 * r + r[-1:], "partial-batch: one-example-for-all"),
        (lambda t, r: np.where(np.arange(r.size).reshape(r.shape) == 0, 0, r), "partial-batch: entry-missing"),
        (lambda t, r: np.where(np.arange(r.size).reshape(r.shape) == 0, r, 0), "partial-batch: entry-alone"),
        (lambda t, r: t.out_g.numpy(), "missing-local: upstream-itself"),
        (lambda t, r: t.out.numpy(), "forward-value: output-everywhere"),
        (lambda t, r: t.inputs["w"].numpy(), "forward-value: input-itself"),
    ],
)
def test_each_relation_to_the_right_answer_is_one_of_them(change: Change, name: str) -> None:
    assert name in matching(pairs(change), RIGHT_ANSWER)


def test_a_jacobian_has_its_diagonal_among_them() -> None:
    jacobian = Answer("w.g", "w", "jacobian")
    found = [(t, np.diagonal(t.expected["w.g"])) for t in trials()[3:]]
    assert matching(found, RIGHT_ANSWER, jacobian) == {"diagonal-only: only-diagonal"}


def test_the_number_of_the_answer_in_the_places_of_its_zeros_is_an_inverted_mask() -> None:
    found = pairs(lambda t, r: -0.5 * (r <= 0), right=lambda r: -0.5 * (r > 0))
    assert matching(found, RIGHT_ANSWER) == {"inverted-mask: marks-inverted"}


def test_a_factor_that_has_become_a_summand_is_a_wrong_operand() -> None:
    found = pairs(lambda t, r: r / 0.5 + 0.5)
    for trial, _ in found:
        trial.inputs["q"] = 0.5  # type: ignore[index]
    assert matching(found, RIGHT_ANSWER) == {"wrong-operand: summand-for-factor"}


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
        (stored_as(lambda new, old, w: new), "overwritten: prior-lost"),
        (stored_as(lambda new, old, w: old), "overwritten: prior-kept"),
        (stored_as(lambda new, old, w: new - old), "wrong-sign: prior-subtracted"),
        (stored_as(lambda new, old, w: (new + old) / 2), "mean-for-sum: mean-with-prior"),
        (stored_as(lambda new, old, w: new + old, lambda new: 2 * new), "wrong-factor: new-twice-without-prior"),
        (stored_as(lambda new, old, w: 0.1 * new + 0.9 * old), "wrong-factor: weights-of-prior"),
        (stored_as(lambda new, old, w: new + 0.9 * old), "wrong-factor: weights-of-prior"),
        (stored_as(lambda new, old, w: -0.1 * new + old), "wrong-factor: weights-of-prior"),
    ],
)
def test_each_way_to_add_wrongly_has_its_own_name(rule: Rule, name: str) -> None:
    assert named(LAYER, rule) == name


def test_what_is_added_to_the_variable_itself_is_named() -> None:
    added = pairs_of(LAYER, stored_as(lambda new, old, w: new + w), LAYER.answers[0])
    with_before = [(trial, array) for trial, array in added if End(LAYER.answers[0], trial).prior is not None]
    assert matching(with_before, PRIOR, LAYER.answers[0]) == {"overwritten: added-to-variable"}


@pytest.mark.parametrize(("weights", "new", "before"), [((0.1, 0.9), "0.1", "0.9"), ((-0.1, 1.0), "-0.1", "1")])
def test_old_and_new_are_told_with_weights_of_their_own(weights: tuple[float, float], new: str, before: str) -> None:
    """As in a running average, a momentum, a step of training."""
    said = verdict(LAYER, stored_as(lambda n, old, w: weights[0] * n + weights[1] * old))
    assert told(said) == {"new": new, "before": before}


def test_where_nothing_was_stored_there_is_nothing_to_say() -> None:
    problem = problem_of(LAYER, 1)
    assert not any(operator.when(problem.end(problem.first)) for operator in PRIOR)


# --- something astray, and products ------------------------------------------------------------------------------

PLAIN = Exercise(LAYER.title, LAYER.forward, {**LAYER.inputs, "w": normal("n m")}, stored("w.g", "b.g", "x.g"))


def astray(rule: Rule, answer: int = 0, operators: tuple[Operator, ...] = (*STRAYS, *MOVED)) -> set[str]:
    asked = PLAIN.answers[answer]
    return matching(pairs_of(PLAIN, rule, asked), operators, asked)


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (lambda v: v["right"] + v["w"].numpy(), "wrong-local: value-added"),
        (lambda v: v["w"].numpy() - v["right"], "wrong-local: step-downhill"),
        (lambda v: v["right"] * v["b"].numpy(), "extra-factor: times-value"),
        (lambda v: np.abs(v["right"]), "wrong-sign: sign-lost"),
        (lambda v: np.clip(v["right"], -1, 1), "not-linear: clipped"),
        (lambda v: 0 * v["right"] + v["right"].mean(1, keepdims=True), "summed-wrong-axis: summed-over-later-axis"),
    ],
)
def test_what_is_astray_is_named(rule: Rule, name: str) -> None:
    assert astray(rule) == {name}


def test_nothing_is_astray_in_a_right_answer_or_in_any_other_one() -> None:
    assert astray(lambda v: v["right"]) == set()
    assert astray(lambda v: v["right"] ** 2 + 1) == set()


def test_a_value_that_does_not_fit_is_none_of_them() -> None:
    end = problem_of(PLAIN).end(problem_of(PLAIN).first)
    names = {chosen["name"] for operator in STRAYS[:4] for chosen in operator.each(end)}
    assert names == {"w", "b"}


@pytest.mark.parametrize(
    ("rule", "answer", "formula"),
    [
        (lambda v: v["w"].numpy() * v["b.g"], "w.g", "w * b.g"),
        (lambda v: v["x"].T @ v["out"], "w.g", "x.T @ out"),
        (lambda v: (v["out"] * v["out_g"]).sum(0), "b.g", "(out * out.g).sum(0)"),
        (lambda v: v["w.g"].sum(0), "b.g", "w.g.sum(0)"),
        (lambda v: v["w"].mean(0), "b.g", "w.mean(0)"),
        (lambda v: v["b"] ** 2, "b.g", "b * b"),
    ],
)
def test_a_product_is_spelt_out(rule: Rule, answer: str, formula: str) -> None:
    asked = next(one for one in PLAIN.answers if one.name == answer)
    end, given = problem_of(PLAIN, PLAIN.answers.index(asked)), pairs_of(PLAIN, rule, asked)
    known = [(o, chosen) for o in PRODUCTS for chosen in o.each(end.end(end.first))]
    found = [
        o.tell(end.end(end.first), **chosen)["formula"]
        for o, chosen in known
        if all(np.allclose(o.rule(end.end(trial), **chosen), array, atol=1e-4) for trial, array in given)
    ]
    assert found == [formula]


def test_what_is_no_product_is_not_spelt_out() -> None:
    assert astray(lambda v: v["w"] ** 3, operators=PRODUCTS) == set()
    assert named(PLAIN, lambda v: v["w"] ** 3) == "unknown: unknown"


@pytest.mark.parametrize("rule", [
    lambda v: of_sine(v).permute(1, 0, 2).reshape(of_sine(v).shape),
    lambda v: of_sine(v).reshape(of_sine(v).permute(2, 0, 1).shape).permute(1, 2, 0),
])  # fmt: skip
def test_entries_read_with_the_axes_in_another_order_are_named(rule: Rule) -> None:
    inputs = {"x": normal("c n m"), "out": output()}
    exercise = Exercise("", lambda x: x.sin(), inputs, stored("x.g"))
    assert named(exercise, rule) == "reshape-for-transpose: axes-in-another-order"


def of_sine(v: dict[str, Any]) -> Any:
    return v["out_g"] * v["x"].cos()

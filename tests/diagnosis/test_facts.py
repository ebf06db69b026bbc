"""What is true of a wrong answer's numbers where no edit gives them: what they follow, and where they are right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from helpers.hand_made import ANSWER, KINDS, SIZES, Change, samples_of, trials
from helpers.verdicts import Rule, named, told, verdict, verdicts

from grader.course.exercise import Exercise, Routine, returned_jacobian, stored
from grader.course.sampling import away_from, normal, output
from grader.course.trial_sizes import LARGE_UPSTREAM_KIND
from grader.diagnosis import facts
from grader.diagnosis.diagnose import find_mistakes
from grader.diagnosis.mistake import Mistake
from grader.diagnosis.words import message_of
from grader.reference.trial import Sample, Samples, Trial, sample_of

NO_GRAPH = Routine("nothing to derive", {"w": normal("bs n")}, lambda w: w)


def said(found: Mistake | None) -> str:
    return "" if found is None else message_of(found)


def mistake(given: Samples) -> Mistake:
    """What is said of arrays where there is no graph."""
    (answer,) = NO_GRAPH.answers
    samples = [
        sample._replace(trial=replace(sample.trial, expected={answer.name: sample.expected})) for sample in given
    ]
    return find_mistakes(NO_GRAPH, {answer.name: samples})[answer.name]


@pytest.mark.parametrize(
    ("change", "name", "text"),
    [
        (lambda t, r: np.full_like(r, 4.5), "hard-coded: constant", "every entry is 4.5 in every trial"),
        (lambda t, r: np.zeros_like(r), "hard-coded: constant", "every entry is 0"),
        (lambda t, r: np.ones((7, 5)), "hard-coded: same-shape", "its shape is always (7, 5), whatever the sizes"),
        (
            lambda t, r: r[..., None],
            "wrong-shape: wrong-shape",
            "its shape is (bs=7, n=5, 1); it should be (bs=7, n=5)",
        ),
        (lambda t, r: -r, "wrong-sign: result-negated", "this is the right answer with the wrong sign"),
        (lambda t, r: r / t.setting.sizes["bs"], "mean-for-sum: factor-divided", "and bs = 7 here"),
        (lambda t, r: r * (1 + 1e-3), "imprecise: nearly-right", "error is 1.0e-03 times the largest entry"),
        (
            lambda t, r: r if t.setting.kind == KINDS[3] else r + 1,
            "shape-special: right-only-in",
            "where all axes have the same size",
        ),
        (lambda t, r: r / t.setting.sizes["bs"] ** 0.5, "wrong-factor: factor-expression", "1 / sqrt(bs) times"),
        (lambda t, r: r * (1 + np.abs(r).max()), "wrong-factor: varying-factor", "the factor differs between trials"),
        (lambda t, r: r + 1, "wrong-local: offset", "1 is added to every entry"),
        (lambda t, r: r**2 + 1, "unknown: unknown", "all 35 entries are wrong; the largest error is "),
        (
            lambda t, r: np.where(np.arange(r.size).reshape(r.shape) == 3, r + 9, r),
            "unknown: unknown",
            "1 of 35 entries is wrong",
        ),
    ],
)
def test_without_a_graph_only_what_the_numbers_show_is_said(change: Change, name: str, text: str) -> None:
    found = mistake(samples_of(change))
    assert f"{found.code}: {found.facts[0].operator}" == name
    assert text in message_of(found)


def test_numbers_without_meaning_are_never_given_one() -> None:
    rng = np.random.default_rng(1)
    for _ in range(15):
        assert mistake(samples_of(lambda t, r: rng.standard_normal(r.shape))).code == "unknown"


def test_no_arrays_at_all_still_give_a_mistake() -> None:
    """As when a learner's arrays cannot be compared, being complex."""
    assert said(mistake([])) == "there is nothing to compare"


@pytest.mark.parametrize("answers", [("x.g",), ("x.g", "w.g")])
def test_a_nearly_right_answer_is_told_so_though_the_gradient_of_one_value_explains_it(answers: Sequence[str]) -> None:
    """As that of an iteration that stops early: the backward pass lacks no path."""
    inputs = {"x": normal("bs 7"), "w": normal("7 3"), "out": output()}
    layer = Exercise("layer", lambda x, w: (x @ w).tanh(), inputs, stored(*answers))

    def of_product(known: dict[str, Any]) -> Any:
        noise = 1 + 0.008 * (3 * known["x"] @ known["w"]).cos()
        return known["out_g"] * (1 - known["out"] ** 2) * noise

    rules: dict[str, Rule] = {
        "x.g": lambda known: of_product(known) @ known["w"].T,
        "w.g": lambda known: known["x"].T @ of_product(known),
    }
    found = verdicts(layer, {name: rules[name] for name in answers})
    assert {(each.code, each.facts[0].operator) for each in found.values()} == {("imprecise", "nearly-right")}
    assert "stop an iteration" in found["x.g"].hints[0]


# --- the same, whatever goes in ----------------------------------------------------------------------------------


def test_the_same_number_everywhere_is_a_constant() -> None:
    assert said(facts.constant_answer(samples_of(lambda t, r: np.full_like(r, 6)))) == "every entry is 6 in every trial"
    assert facts.constant_answer(samples_of(lambda t, r: np.full_like(r, t.setting.index))) is None
    assert facts.constant_answer(samples_of(lambda t, r: r)) is None


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_zeros_and_ones_are_constants_only_when_nothing_else_is_known(value: float) -> None:
    filled = samples_of(lambda t, r: np.full_like(r, value))
    assert facts.constant_answer(filled) is None
    assert said(facts.constant_answer(filled, trivial=True)) == f"every entry is {value:g} in every trial"


def test_one_trial_alone_proves_no_constant() -> None:
    assert facts.constant_answer(samples_of(lambda t, r: np.full_like(r, 6))[:1]) is None


def test_the_same_shape_in_every_trial_is_hard_coded() -> None:
    same = facts.same_shape_in_every_trial(samples_of(lambda t, r: np.zeros((7, 5))))
    assert said(same) == "its shape is always (7, 5), whatever the sizes"
    assert facts.same_shape_in_every_trial(samples_of(lambda t, r: r)) is None
    assert facts.same_shape_in_every_trial(samples_of(lambda t, r: np.zeros(()))) is None


def test_a_number_that_is_added_everywhere_is_told() -> None:
    assert said(facts.offset_answer(samples_of(lambda t, r: r - 0.5))) == "1/2 is subtracted from every entry"
    assert said(facts.offset_answer(samples_of(lambda t, r: r + 2))) == "2 is added to every entry"


@pytest.mark.parametrize(
    "change", [lambda t, r: r, lambda t, r: r + t.setting.index, lambda t, r: 2 * r, lambda t, r: (r + 1)[:1]]
)
def test_nothing_is_said_of_a_number_that_is_not_the_same_everywhere(change: Change) -> None:
    assert facts.offset_answer(samples_of(change)) is None


def test_what_is_added_to_a_constant_is_another_constant() -> None:
    assert facts.offset_answer(samples_of(lambda t, r: 0 * r, right=np.ones_like)) is None


# --- right here and wrong there ----------------------------------------------------------------------------------


def special(given: Samples) -> tuple[str, str] | None:
    found = facts.right_in_some_trials(ANSWER, given)
    return None if found is None else (found.code, message_of(found))


@pytest.mark.parametrize(
    ("right_in", "text"),
    [
        ({"a square case"}, "it is right only where all axes have the same size (bs=4, n=4)"),
        (
            {"a square case", "a batch of one"},
            "it is right only for a batch of one (bs=1, n=6) and where all axes have the same size (bs=4, n=4)",
        ),
        (set(KINDS) - {"a batch of one"}, "it is wrong for a batch of one (bs=1, n=6)"),
    ],
)
def test_an_answer_that_is_right_for_some_sizes_only_is_shape_special(right_in: set[str], text: str) -> None:
    assert special(samples_of(lambda t, r: r if t.setting.kind in right_in else r + 1)) == ("shape-special", text)


def test_a_batch_of_one_whose_gradient_is_zero_shows_nothing() -> None:
    """A fact is said only where its opposite could have been seen: there nobody could be wrong."""
    every = samples_of(lambda t, r: r**2 + 1)
    (alone,) = (wrong for wrong in every if wrong.trial.setting.kind == KINDS[2])
    rest = [wrong for wrong in every if wrong is not alone]
    seen, unseen = (alone._replace(given=right, expected=right) for right in (alone.expected, 0 * alone.expected))
    assert facts.unknown_mistake([*rest, seen]).facts[0].parameters["alone"]
    assert not facts.unknown_mistake([*rest, unseen]).facts[0].parameters["alone"]


def test_rounding_where_the_right_answer_is_zero_counts_as_no_wrong_entry() -> None:
    """The entries are counted with the tolerance that decides whether the answer is right."""
    sample = samples_of(lambda t, r: r + 1)[0]
    right = np.zeros_like(sample.expected)
    given = np.full_like(right, 1e-9)
    given.flat[0] = 0.5
    found = facts.unknown_mistake([sample._replace(given=given, expected=right)])
    assert found.facts[0].parameters["wrong"] == 1


def test_an_answer_that_is_right_in_a_batch_of_one_alone_is_not_told_to_be_shape_special() -> None:
    """One example alone hides whatever mixes several, so that says little about the mistake."""
    assert special(samples_of(lambda t, r: r if t.setting.kind == "a batch of one" else r + 1)) is None


def test_a_trial_whose_right_answer_is_zero_proves_nothing() -> None:
    """Zeros come easily: they do not make an answer right for that size."""
    found = samples_of(lambda t, r: r if t.setting.kind == "a square case" else r + 1)
    zero = [
        sample._replace(given=0 * sample.given, expected=0 * sample.expected)
        if sample.trial.setting.kind == "a square case"
        else sample
        for sample in found
    ]
    assert special(found) is not None
    assert special(zero) is None


def test_a_trial_of_few_entries_that_may_be_right_by_luck_proves_nothing() -> None:
    """One entry is wrong where there are many: that it is right in a square of sixteen entries says nothing."""

    def one_wrong(t: Trial, r: np.ndarray) -> np.ndarray:
        first = np.zeros_like(r)
        first.flat[0] = t.setting.kind != "a square case"
        return r + first

    assert special(samples_of(one_wrong)) is None


def test_an_answer_that_is_right_for_one_integer_only_is_hard_coded() -> None:
    found = samples_of(lambda t, r: r if t.arguments["k"] == 2 else r + 1, k=(2, 3, 4, 2))
    assert special(found) == ("hard-coded", "it is right only when `k` is 2")


OPTIONS: dict[str, tuple[dict[str, Sequence[Any]], set[int], str]] = {
    "yes or no": ({"flag": (True, False, True, False)}, {1, 3}, "right only when `flag` is False"),
    "all values but one": ({"dim": (0, 1, 2, 0)}, {0, 2, 3}, "wrong when `dim` is 1"),
    "a sign": ({"dim": (0, -1, 1, -2)}, {0, 2}, "wrong when `dim` is negative"),
    "the other sign": ({"dim": (0, -1, 1, -2)}, {1, 3}, "right only when `dim` is negative"),
    "the first option that tells": (
        {"k": (1, 1, 2, 1), "flag": (True, False, True, True)},
        {0, 2, 3},
        "right only when `flag` is True",
    ),
}


@pytest.mark.parametrize(("extra", "right", "text"), OPTIONS.values(), ids=OPTIONS)
def test_an_answer_that_is_right_for_some_options_says_for_which(
    extra: dict[str, Sequence[Any]], right: set[int], text: str
) -> None:
    """Even where the others have a wrong shape."""
    for wrong in (lambda r: r + 1, lambda r: r.sum(0)):
        found = samples_of(lambda t, r, wrong=wrong: r if t.setting.index in right else wrong(r), **extra)
        assert special(found) == ("hard-coded", f"it is {text}")


def test_of_options_that_change_together_all_are_told() -> None:
    """Nobody can tell which of them is the reason, so the sentence speaks of the trials alone."""
    found = samples_of(lambda t, r: r + (t.setting.index == 1), before=(1, 0, 2, 1), after=(2, 0, 1, 2))
    says = "it is right only in the trials in which `before` is not 0 and `after` is not 0"
    assert special(found) == ("hard-coded", says)


def test_a_number_that_occurs_in_one_trial_alone_is_no_reason() -> None:
    """Of several numbers it may be any for which the sizes, or nothing at all, make the answer wrong."""
    once = samples_of(lambda t, r: r + (t.setting.index == 1), k=(1, 2, 0, 1))
    twice = samples_of(lambda t, r: r + t.setting.index % 2, k=(1, 2, 0, 2))
    assert special(once) is None
    assert special(twice) == ("hard-coded", "it is wrong when `k` is 2")


@pytest.mark.parametrize(
    ("k", "text"),
    [((6, 5, 0, 9), "at most bs"), ((7, 5, 1, 9), "equal to bs"), ((1, 9, 0, 8), "")],
    ids=["at most", "equal, which says more", "with two axes, of which nobody can tell which it is"],
)
def test_an_option_is_compared_with_the_size_of_an_axis(k: Sequence[int], text: str) -> None:
    found = special(samples_of(lambda t, r: r + t.setting.index % 2, k=k))
    assert found == (("hard-coded", f"it is right only when `k` is {text}") if text else None)


def test_an_option_is_named_among_the_sizes_that_are_all_the_same() -> None:
    """Such as the number of outputs of a Jacobian, where the exercise gives that of the inputs as an axis."""
    found = samples_of(lambda t, r: r if t.setting.kind == "a square case" else r + 1, m=(3, 2, 6, 4), k=(4, 4, 5, 2))
    assert special(found) == ("shape-special", "it is right only where all axes have the same size (bs=4, n=4, m=4)")


LARGE_WRONG: dict[str, tuple[Change, bool]] = {
    "clipped": (lambda t, r: r.clip(-1, 1), True),
    "scaled down": (lambda t, r: r / np.linalg.norm(r), True),
    "made of a clipped array": (lambda t, r: 0.05 * np.roll(r, 1), True),
    "wrong for its sizes": (lambda t, r: np.roll(r, 1), False),
    "partly missing": (lambda t, r: r * (np.arange(r.size).reshape(r.shape) % 2), False),
}


@pytest.mark.parametrize(("change", "held_down"), LARGE_WRONG.values(), ids=LARGE_WRONG)
def test_only_a_smaller_answer_is_told_to_be_right_for_small_upstream_gradients(
    change: Change, held_down: bool
) -> None:
    """The trial with a large upstream gradient has sizes of its own, which may be why it is wrong there."""
    found = samples_of(lambda t, r: change(t, r) if t.setting.index == 0 else r)
    large = [
        sample._replace(trial=replace(sample.trial, setting=replace(sample.trial.setting, kind=LARGE_UPSTREAM_KIND)))
        if sample.trial.setting.index == 0
        else sample
        for sample in found
    ]
    assert (
        special(large) == ("not-linear", "it is right only for small upstream gradients, but must be linear in them")
    ) is held_down


def test_an_option_that_is_the_same_in_a_right_and_in_a_wrong_trial_is_no_reason() -> None:
    """Where `dim` is 0 it is right once and wrong once: sizes decide, not the option."""
    assert special(samples_of(lambda t, r: r + (t.setting.index in (1, 2)), dim=(0, 1, 0, 0))) is None


def test_the_shape_of_the_answer_is_no_reason() -> None:
    """It is another one in every trial, so that it always tells right from wrong."""
    found = samples_of(lambda t, r: r + (t.setting.index == 1), shape=[tuple(size.values()) for size in SIZES])
    assert special(found) is None


@pytest.mark.parametrize("change", [lambda t, r: r, lambda t, r: r + 1, lambda t, r: r + (t.setting.index == 0)])
def test_an_answer_right_everywhere_nowhere_or_for_no_reason_is_not_special(change: Change) -> None:
    assert special(samples_of(change)) is None


def test_right_in_one_batch_of_one_and_wrong_in_another_is_no_matter_of_sizes() -> None:
    """What is wrong there by chance is not told as wrong only there."""
    found = trials()
    again = [found[0], found[2], replace(found[1], setting=replace(found[1].setting, kind="a batch of one"))]

    def wrong_in_the(*places: int) -> list[Sample]:
        return [
            sample_of(ANSWER, trial, trial.expected["w.g"] + (i in places))  # type: ignore[operator]
            for i, trial in enumerate(again)
        ]

    assert special(wrong_in_the(1)) is None
    assert special(wrong_in_the(1, 2)) == ("shape-special", "it is wrong for a batch of one (bs=1, n=6)")


# --- zeros, masks and slopes -------------------------------------------------------------------------------------

GIVEN = {"x": normal("n m"), "out": output()}
RELU = Exercise("relu", lambda x: x.clamp_min(0), {**GIVEN, "x": away_from((-1.0, 0.0, 1.0), "n m")}, stored("x.g"))
COSINE = Exercise("cos", lambda x: x.cos(), GIVEN, stored("x.g"))
SOFTMAX = Exercise("softmax", lambda x: x.softmax(-1), {**GIVEN, "x": normal("bs c")}, stored("x.g"))


@pytest.mark.parametrize(
    ("rule", "passes"),
    [
        (lambda v: (v["x"] > 1) * v["out_g"], False),
        (lambda v: (v["x"] > -1) * v["out_g"], True),
        (lambda v: (v["x"].abs() < 1) * v["out_g"], None),
    ],
)
def test_a_mask_of_any_other_kind_is_shown_at_an_entry_where_it_is_wrong(rule: Rule, passes: bool | None) -> None:
    assert named(RELU, rule) == "wrong-local: another-mask"
    shown = told(verdict(RELU, rule))
    assert shown["name"] == "x"
    assert passes in (None, shown["passes"])


def test_the_entry_that_is_shown_is_one_whose_gate_is_wrong() -> None:
    assert 0 < float(told(verdict(RELU, lambda v: (v["x"] > 1) * v["out_g"]))["value"]) < 1
    assert -1 < float(told(verdict(RELU, lambda v: (v["x"] > -1) * v["out_g"]))["value"]) < 0


@pytest.mark.parametrize(
    ("rule", "everywhere"),
    [
        (lambda v: torch.where(v["x"] > 0, v["out_g"], 0.05 * v["out_g"]), True),
        (lambda v: torch.where(v["x"] > 0, v["out_g"], v["x"] - 0.5), True),
        (lambda v: torch.where(v["x"] > -1, (v["x"] > 0) * v["out_g"], 7 * v["out_g"]), False),
    ],
)
def test_what_should_be_zero_and_is_not_is_said(rule: Rule, everywhere: bool) -> None:
    """Also where it is so little that the answer is nearly right."""
    assert named(RELU, rule) == "wrong-local: not-zero"
    counts = told(verdict(RELU, rule))
    assert (counts["wrong"] == counts["zeros"]) is everywhere


def test_any_other_slope_is_shown_beside_the_right_one() -> None:
    """The upstream gradient is used entry by entry, as it must be: what multiplies it is the local derivative."""
    assert named(COSINE, lambda v: v["out_g"] * (v["x"] ** 3 - 1)) == "wrong-local: another-slope"
    shown = told(verdict(COSINE, lambda v: v["out_g"] * (v["x"] ** 3 - 1)))
    at, right, used = (float(shown[name]) for name in ("value", "slope", "used"))
    assert right == pytest.approx(-math.sin(at), abs=0.02)
    assert used == pytest.approx(at**3 - 1, abs=0.05)


def test_an_answer_that_stays_the_same_lacks_the_upstream_gradient_whatever_else_is_wrong() -> None:
    assert named(COSINE, lambda v: v["x"] ** 3 - 1) == "missing-upstream: upstream-not-in-it"


def test_an_answer_that_uses_only_its_own_upstream_entry_is_diagonal_where_outputs_mix() -> None:
    assert named(SOFTMAX, lambda v: v["out_g"] * (v["x"] ** 3 - 1)) == "diagonal-only: own-upstream-only"


@pytest.mark.parametrize(
    "rule",
    [
        lambda v: v["out_g"] ** 3 * v["x"],
        lambda v: v["out_g"] * v["x"] + 0.3,
        lambda v: v["out_g"].sum(-1, keepdim=True) * v["x"] ** 3,
    ],
)
def test_of_anything_else_nothing_is_claimed(rule: Rule) -> None:
    assert named(COSINE, rule) == "unknown: unknown"


def test_a_measured_answer_is_still_called_imprecise() -> None:
    """Zeros and masks are looked at first, but a finite difference is neither."""
    noise = torch.from_numpy(1 + 1e-3 * np.sin(np.arange(400.0)))
    answer = verdict(RELU, lambda v: v["out_g"] * (v["x"] > 0) * noise[: v["x"].numel()].view(v["x"].shape))
    assert answer.code == "imprecise"


@pytest.mark.parametrize("error", [1e-5, 1.5e-5, 2e-5, 5e-5])
def test_two_sign_errors_that_cancel_are_never_told_of_a_measured_answer(error: float) -> None:
    """The answer times 1 is the right one as nearly as the answer times -1 is the right one times -1."""
    linear = Exercise(
        "inp @ w + b",
        lambda inp, w, b: inp @ w + b,
        {"inp": normal("bs n"), "out": output(), "w": normal("n m"), "b": normal("m")},
        stored("inp.g", "w.g", "b.g"),
    )
    rng = np.random.default_rng(0)

    def measured(v: dict[str, Any]) -> Any:
        right = v["right"]
        return right + error * np.abs(right).max() * rng.standard_normal(right.shape)

    answers = verdicts(linear, {answer.name: measured for answer in linear.answers})
    assert {answer.code for answer in answers.values()} == {"imprecise"}


def test_a_jacobian_whose_rows_are_in_another_order_is_no_matter_of_masks() -> None:
    shifted = Exercise("x + b", lambda x, b: x + b, {"x": normal("m"), "b": normal("m")}, returned_jacobian("b"))
    said = verdict(shifted, lambda v: torch.eye(len(v["b"]), dtype=torch.float64).flip(0))
    assert (said.code, said.says) == ("wrong-operand", "the rows of the right answer are in reverse order")

"""Answers that are right but for a factor: which factor, and where it comes from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from test_relations import ANSWER, Change, pairs

from grader.diagnosis.ratios import offset, ratio, slope_typed_in, varying_ratio
from grader.reference.trial import Trial


def size(trial: Trial, axis: str) -> int:
    return trial.setting.sizes[axis]


@pytest.mark.parametrize(
    ("change", "averages", "code", "says"),
    [
        (lambda t, r: -r, False, "wrong-sign", "every entry has the wrong sign"),
        (lambda t, r: 2 * r, False, "wrong-factor", "every entry is 2 times what it should be"),
        (lambda t, r: r / 2, False, "wrong-factor", "every entry is 1/2 times what it should be"),
        (lambda t, r: -3 * r / 4, False, "wrong-factor", "every entry is -3/4 times what it should be"),
        (lambda t, r: 0.123 * r, False, "wrong-factor", "every entry is 0.123 times what it should be"),
        (
            lambda t, r: r / size(t, "bs"),
            False,
            "mean-for-sum",
            "every entry is 1/7 of what it should be, and bs = 7 here",
        ),
        (
            lambda t, r: r / size(t, "n"),
            False,
            "mean-for-sum",
            "every entry is 1/5 of what it should be, and n = 5 here",
        ),
        (
            lambda t, r: r * size(t, "bs"),
            True,
            "sum-for-mean",
            "every entry is 7 times what it should be, and bs = 7 here",
        ),
        (
            lambda t, r: r * size(t, "n"),
            False,
            "wrong-factor",
            "every entry is 5 times what it should be, and n = 5 here",
        ),
        (lambda t, r: r / (size(t, "n") * size(t, "bs")), False, "mean-for-sum", "bs * n is 35 here"),
        (
            lambda t, r: 2 * r / size(t, "bs"),
            False,
            "wrong-factor",
            "every entry is 2/7 times what it should be, and bs = 7 here",
        ),
        (
            lambda t, r: r * size(t, "bs") / 10,
            True,
            "hard-coded",
            "it is divided by 10, whatever the size; bs is 7 here",
        ),
    ],
)
def test_a_constant_ratio_is_decoded_with_the_axis_sizes(change: Change, averages: bool, code: str, says: str) -> None:
    decoded = ratio(ANSWER, pairs(change), averages)
    assert decoded is not None
    assert decoded[0] == code
    assert says in decoded[1]


@pytest.mark.parametrize(
    "change",
    [
        lambda t, r: r,
        lambda t, r: r + 1,
        lambda t, r: np.zeros_like(r),
        lambda t, r: r[:1],
        lambda t, r: r * np.arange(1, r.size + 1).reshape(r.shape),
        lambda t, r: r if t.setting.index else r + 1,
    ],
)
def test_what_is_no_ratio_is_not_called_one(change: Change) -> None:
    assert ratio(ANSWER, pairs(change), True) is None


def test_a_factor_can_be_an_integer_argument() -> None:
    decoded = ratio(ANSWER, pairs(lambda t, r: r / t.arguments["k"], k=(2, 3, 9, 4)), False)
    assert decoded is not None
    assert "k = 2 here" in decoded[1]


def _same(trial: Trial, right: np.ndarray) -> np.ndarray:
    return right


def test_a_number_in_place_of_a_count_is_seen_along_whichever_axis() -> None:
    """The count is what the output was reduced from; here it is another axis in each trial."""
    counts = zip(pairs(_same), (7, 4, 6, 4), strict=True)
    found = [(replace(t, out=torch.zeros(r.size // n)), r * n / 5) for (t, r), n in counts]
    decoded = ratio(ANSWER, found, True)
    assert decoded is not None
    assert decoded[0] == "hard-coded"
    assert "divided by 5" in decoded[1]


P = (0.25, 0.4, 0.125, 0.3)


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (lambda t, r: r * p(t), "wrong-factor", "every entry is p times what it should be; p is 0.25 here"),
        (lambda t, r: r / p(t), "wrong-factor", "every entry is 1 / p times what it should be; p is 0.25 here"),
        (lambda t, r: r / (1 - p(t)), "wrong-factor", "every entry is 1 / (1 - p) times what it should be"),
        (lambda t, r: r * (1 - p(t)) / p(t), "wrong-factor", "every entry is (1 - p) / p times"),
        (lambda t, r: r * 2 * (1 - p(t)), "hard-coded", "a number is typed in; p is 0.25 here"),
        (lambda t, r: r * 0.01 / p(t), "hard-coded", "a number is typed in; p is 0.25 here"),
    ],
)
def test_a_factor_can_come_from_a_plain_number(change: Change, code: str, says: str) -> None:
    """An argument such as dropout's p, what it leaves of 1, or a number that was typed in for it."""
    decoded = ratio(ANSWER, pairs(change, p=P), False)
    assert decoded is not None
    assert decoded[0] == code
    assert says in decoded[1]


def test_a_number_that_is_a_share_in_some_trials_only_is_no_share() -> None:
    found = pairs(lambda t, r: r * (2 + t.setting.index), p=(0.5, 1.5, 0.3, 2.0))
    assert ratio(ANSWER, found, False) is None


def p(trial: Trial) -> float:
    return float(trial.arguments["p"])


def test_one_axis_taken_for_another_is_said_with_both_sizes() -> None:
    decoded = ratio(ANSWER, pairs(lambda t, r: r * size(t, "bs") / size(t, "n")), True)
    assert decoded == ("wrong-factor", "it is divided by n (5 here), not by bs (7 here)")


def test_the_upstream_gradient_times_a_number_is_a_slope_typed_in() -> None:
    says = slope_typed_in(ANSWER, pairs(lambda t, r: t.out_g.numpy() / 4))  # type: ignore[union-attr]
    assert says == "every entry is 1/4 times out.g, whatever w is"


@pytest.mark.parametrize("change", [lambda t, r: r, lambda t, r: t.out_g.numpy() * (1 + t.setting.index)])
def test_what_is_no_multiple_of_the_upstream_gradient_is_not_called_one(change: Change) -> None:
    assert slope_typed_in(ANSWER, pairs(change)) is None


def test_a_factor_that_differs_from_trial_to_trial_is_said_to() -> None:
    code, says = varying_ratio(ANSWER, pairs(lambda t, r: r * (1 + np.abs(r).max()))) or ("", "")
    assert code == "wrong-factor"
    assert "with another factor elsewhere" in says


def test_what_is_added_to_a_constant_is_another_constant() -> None:
    ones = [
        (replace(trial, expected={"w.g": np.ones_like(array)}), 0 * array) for trial, array in pairs(lambda t, r: r)
    ]
    assert offset(ANSWER, ones) is None


def test_a_number_that_is_added_everywhere_is_told() -> None:
    assert offset(ANSWER, pairs(lambda t, r: r - 0.5)) == "1/2 is subtracted from every entry"
    assert offset(ANSWER, pairs(lambda t, r: r + 2)) == "2 is added to every entry"


@pytest.mark.parametrize(
    "change", [lambda t, r: r, lambda t, r: r + t.setting.index, lambda t, r: 2 * r, lambda t, r: (r + 1)[:1]]
)
def test_nothing_is_said_of_a_number_that_is_not_the_same_everywhere(change: Change) -> None:
    assert offset(ANSWER, pairs(change)) is None

"""Answers that are right but for a factor: which factor, and where it comes from."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.hand_made import Change, samples_of
from helpers.verdicts import Rule, named, told, verdict

from grader.course.exercise import Exercise, returned, stored
from grader.course.sampling import normal, number, output
from grader.diagnosis.factors import Factor, explained_factor
from grader.diagnosis.facts import ratio_in_each_trial, varying_ratio
from grader.diagnosis.words import clause
from grader.reference.trial import Samples, Trial


def size(trial: Trial, axis: str) -> int:
    return trial.setting.sizes[axis]


def p(trial: Trial) -> float:
    return float(trial.arguments["p"])


def factor_of(given: Samples, averages: bool = False) -> Factor | None:
    return explained_factor(ratio_in_each_trial(given), averages)


def told_of(found: Factor | None) -> tuple[str, str]:
    return ("", "") if found is None else (found.code, clause(found.fact()))


P = (0.25, 0.4, 0.125, 0.3)
CASES: list[tuple[Change, bool, str, str]] = [
    (lambda t, r: -r, False, "wrong-sign", "every entry has the wrong sign"),
    (lambda t, r: 2 * r, False, "wrong-factor", "every entry is twice what it should be"),
    (lambda t, r: r / 2, False, "wrong-factor", "every entry is 1/2 of what it should be"),
    (lambda t, r: -3 * r / 4, False, "wrong-factor", "every entry is -3/4 of what it should be"),
    (lambda t, r: 0.123 * r, False, "wrong-factor", "every entry is 0.123 times what it should be"),
    (lambda t, r: r / size(t, "bs"), False, "mean-for-sum", "1/7 of what it should be, and bs = 7 here"),
    (lambda t, r: r / size(t, "n"), False, "mean-for-sum", "1/5 of what it should be, and n = 5 here"),
    (lambda t, r: -r / size(t, "bs"), False, "mean-for-sum", "-1/7 of what it should be, and bs = 7 here"),
    (lambda t, r: r * size(t, "bs"), True, "sum-for-mean", "7 times what it should be, and bs = 7 here"),
    (lambda t, r: r * size(t, "n"), False, "wrong-factor", "5 times what it should be, and n = 5 here"),
    (lambda t, r: -r * size(t, "n"), False, "wrong-factor", "-5 times what it should be, and n = 5 here"),
    (lambda t, r: r / (size(t, "n") * size(t, "bs")), False, "mean-for-sum", "bs * n = 35 here"),
    (lambda t, r: 2 * r / size(t, "bs"), False, "wrong-factor", "2 / bs times what it should be; bs = 7 here"),
    (lambda t, r: r * size(t, "bs") / 10, True, "hard-coded", "divided by 10, whatever the size: bs = 7 here"),
    (
        lambda t, r: r * size(t, "bs") / size(t, "n"),
        True,
        "wrong-factor",
        "by n (5 here); it must be divided by bs (7 here)",
    ),
    (lambda t, r: r / t.arguments["k"], False, "mean-for-sum", "k = 2 here"),
    (lambda t, r: r * math.sqrt(size(t, "n")), False, "wrong-factor", "every entry is sqrt(n) times"),
    (lambda t, r: r / size(t, "n") ** 2, False, "wrong-factor", "every entry is 1 / n**2 times"),
    (lambda t, r: r * (size(t, "bs") + 1), False, "wrong-factor", "every entry is (bs + 1) times"),
    (lambda t, r: 3 * r * (size(t, "n") - 1), False, "wrong-factor", "every entry is 3 * (n - 1) times"),
    (lambda t, r: -r * (size(t, "n") - 1), False, "wrong-factor", "every entry is -(n - 1) times"),
    (lambda t, r: 2 * r / size(t, "n") / size(t, "bs"), False, "wrong-factor", "every entry is 2 / (bs * n) times"),
    (lambda t, r: r * p(t), False, "wrong-factor", "every entry is p times what it should be; p = 0.25 here"),
    (lambda t, r: r / p(t), False, "wrong-factor", "every entry is 1 / p times what it should be; p = 0.25 here"),
    (lambda t, r: r / (1 - p(t)), False, "wrong-factor", "every entry is 1 / (1 - p) times what it should be"),
    (lambda t, r: r * (1 - p(t)) / p(t), False, "wrong-factor", "every entry is (1 - p) / p times"),
    (lambda t, r: r * 2 * (1 - p(t)), False, "hard-coded", "a number was typed in for p, which is 0.25 here"),
    (lambda t, r: r * 0.01 / p(t), False, "hard-coded", "a number was typed in for p, which is 0.25 here"),
]


@pytest.mark.parametrize(("change", "averages", "code", "says"), CASES)
def test_a_factor_is_decoded_with_the_sizes_and_the_plain_numbers(
    change: Change, averages: bool, code: str, says: str
) -> None:
    """Arguments are an integer k, and a share p such as dropout's, what it leaves of 1, or a number typed in for it."""
    found, text = told_of(factor_of(samples_of(change, p=P, k=(2, 3, 9, 4)), averages))
    assert found == code
    assert says in text


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
def test_what_is_no_factor_is_not_called_one(change: Change) -> None:
    assert factor_of(samples_of(change), averages=True) is None


def test_a_number_in_place_of_a_count_is_seen_along_whichever_axis() -> None:
    """The count is what the output was reduced from; here it is another axis in each trial."""
    counts = zip(samples_of(lambda t, r: r), (7, 4, 6, 4), strict=True)
    samples = [
        sample._replace(
            trial=replace(sample.trial, out=torch.zeros(sample.given.size // n)), given=sample.given * n / 5
        )
        for sample, n in counts
    ]
    code, text = told_of(factor_of(samples, averages=True))
    assert (code, "divided by 5" in text) == ("hard-coded", True)


def test_a_number_that_is_a_share_in_some_trials_only_is_no_share() -> None:
    assert factor_of(samples_of(lambda t, r: r * (2 + t.setting.index), p=(0.5, 1.5, 0.3, 2.0))) is None


def test_a_factor_that_differs_from_trial_to_trial_is_said_to() -> None:
    found = varying_ratio(samples_of(lambda t, r: r * (1 + np.abs(r).max())))
    assert found is not None
    assert (found.code, found.facts[0].operator) == ("wrong-factor", "varying-factor")
    assert varying_ratio(samples_of(lambda t, r: r + 1)) is None


def test_a_factor_is_told_of_a_trial_in_which_there_is_one() -> None:
    """Not of one that is right; and a fraction that no one would have typed is told as a number."""
    found = varying_ratio(samples_of(lambda t, r: r * (1 if t.setting.index % 2 else 2108 / 7 + t.setting.index)))
    assert found is not None
    text = clause(found.facts[0])
    assert text.startswith("it is right in 2 of 4 trials; in another trial every entry is 301 times what it should be")


# --- a factor of its own on one path -----------------------------------------------------------------------------

GIVEN = {"x": normal("n m"), "out": output()}
TWO = Exercise("x sin(x) + x**3", lambda x: x * x.sin() + x**3, GIVEN, stored("x.g"))
MEAN = Exercise("mean of x sin(x)", lambda x: (x * x.sin()).mean(), {"x": normal("n m")}, returned("x"))
SCALED = Exercise("q x + x**2", lambda x, q: q * x + x**2, {**GIVEN, "q": number(2, 3)}, stored("x.g"))


def slope(x: torch.Tensor) -> torch.Tensor:
    """of x sin(x)"""
    return x.sin() + x * x.cos()


@pytest.mark.parametrize(
    ("exercise", "rule", "name", "says"),
    [
        (TWO, lambda v: v["out_g"] * (slope(v["x"]) + 6 * v["x"] ** 2), "wrong-factor: path-counted-twice", "`x**3`"),
        (TWO, lambda v: v["out_g"] * (slope(v["x"]) + v["x"] ** 2 / 2), "wrong-factor: factor-number",
         "the contribution of `x**3` is 1/6 of"),
        (TWO, lambda v: v["out_g"] * (0.3 * slope(v["x"]) + 3 * v["x"] ** 2), "wrong-factor: factor-number",
         "`x * x.sin()` is 3/10 of"),
        (MEAN, lambda v: v["x"].sin() / len(v["x"]) + v["x"] * v["x"].cos() / v["x"].numel(),
         "sum-for-mean: factor-multiplied", "the contribution of"),
        (SCALED, lambda v: v["out_g"] * (7 + 2 * v["x"]), "hard-coded: factor-number-typed-in",
         "a number was typed in for q"),
    ],
)  # fmt: skip
def test_a_factor_on_one_path_is_found_and_decoded(exercise: Exercise, rule: Rule, name: str, says: str) -> None:
    """Whatever the factor is: nobody has to foresee it."""
    assert named(exercise, rule) == name
    assert name.endswith("path-counted-twice") or "the contribution of" in told(verdict(exercise, rule))["part"]
    assert says in verdict(exercise, rule).says

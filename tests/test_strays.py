"""The right numbers with something astray: a value added or multiplied in, or each number in another place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from grader.diagnosis.diagnose import Diagnosis, matching
from grader.diagnosis.strays import candidates
from grader.exercise import Exercise, stored
from grader.reference.references import make_trials
from grader.sampling import normal, output

LINEAR = Exercise(
    "a layer",
    lambda x, w, b: x @ w + b,
    {"x": normal("bs n"), "w": normal("n m"), "b": normal("m"), "out": output()},
    stored("w.g", "x.g"),
)
Values = dict[str, np.ndarray]


def verdict(rule: Callable[[np.ndarray, Values], np.ndarray], answer: int = 0) -> Diagnosis | None:
    trials, asked = make_trials(LINEAR, np.random.default_rng(5)), LINEAR.answers[answer]
    pairs = []
    for trial in trials:
        right = trial.expected[asked.name]
        assert right is not None
        pairs.append((trial, rule(right, {name: value.numpy() for name, value in trial.inputs.items()})))
    return matching(asked, pairs, candidates(asked, trials[0]))


@pytest.mark.parametrize(
    ("rule", "code", "says"),
    [
        (lambda r, v: r + v["w"], "wrong-local", "w is added to the right answer"),
        (lambda r, v: r - v["w"], "wrong-local", "w is subtracted from the right answer"),
        (lambda r, v: v["w"] - r, "wrong-local", "w less the right answer"),
        (lambda r, v: r * v["b"], "extra-factor", "every entry is also multiplied by b"),
        (lambda r, v: np.abs(r), "wrong-sign", "every entry has lost its sign"),
        (lambda r, v: np.clip(r, -1, 1), "not-linear", "cut off at -1 and 1"),
        (lambda r, v: 0 * r + r.mean(1, keepdims=True), "summed-wrong-axis", "summed over m, an axis it must keep"),
        (lambda r, v: r[::-1], "wrong-operand", "back to front along axis 0"),
        (
            lambda r, v: np.roll(r, 1, 1),
            "wrong-operand",
            "along axis 1 each entry has the right number of the one befo",
        ),
        (
            lambda r, v: np.roll(r, -1, 0),
            "wrong-operand",
            "along axis 0 each entry has the right number of the one beh",
        ),
    ],
)
def test_what_is_astray_is_named(rule: Callable[[np.ndarray, Values], np.ndarray], code: str, says: str) -> None:
    said = verdict(rule)
    assert said is not None
    assert said.code == code
    assert says in said.says


def test_nothing_is_astray_in_a_right_answer_or_in_any_other_one() -> None:
    assert verdict(lambda r, v: r) is None
    assert verdict(lambda r, v: r**2 + 1) is None


def test_a_value_that_does_not_fit_is_no_candidate() -> None:
    trial = make_trials(LINEAR, np.random.default_rng(5))[0]
    assert not any("x is" in one.says for one in candidates(LINEAR.answers[0], trial))

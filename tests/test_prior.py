"""A gradient that must be added to what was stored before: lost, replaced, counted twice."""

from __future__ import annotations

import numpy as np
import pytest

from grader.diagnosis.diagnose import matching
from grader.diagnosis.prior import candidates, mixed_with_prior
from grader.exercise import Answer
from grader.reference.trial import Trial
from grader.sampling import Array
from grader.trial_sizes import Setting

ANSWER = Answer("w.g", "w")


def trial(index: int, prior: np.ndarray | None) -> Trial:
    new = np.random.default_rng(index).standard_normal((3, 2))
    argument = Array(np.zeros((3, 2)), ("n", "m"), prior)
    right = new if prior is None else new + prior
    return Trial(Setting(index, "a test", {"n": 3, "m": 2}), {"w": argument}, {"w.g": right}, {"w": np.ones((3, 2))})


OLD = np.arange(6.0).reshape(3, 2) + 1
TRIALS = [trial(0, OLD), trial(1, None), trial(2, OLD[::-1].copy())]


@pytest.mark.parametrize(
    ("stored", "nothing", "code", "says"),
    [
        (lambda new, old: new, 1, "overwritten", "is gone"),
        (lambda new, old: old, 1, "overwritten", "stays as it was"),
        (lambda new, old: 2 * new, 2, "overwritten", "to itself"),
        (lambda new, old: new + 1, 1, "overwritten", "is added to w itself"),
        (lambda new, old: new - old, 1, "wrong-sign", "subtracted"),
        (lambda new, old: (new + old) / 2, 1, "mean-for-sum", "the mean of what was stored before"),
        (lambda new, old: new + old, 2, "wrong-factor", "twice where nothing was stored"),
        (lambda new, old: 2 * new + old, 1, "wrong-factor", "the new gradient counts twice"),
    ],
)
def test_each_way_to_add_wrongly_has_its_own_name(stored: object, nothing: int, code: str, says: str) -> None:
    pairs = []
    for one in TRIALS:
        old, right = one.arguments["w"].g, one.expected["w.g"]
        assert right is not None
        pairs.append((one, nothing * right if old is None else stored(right - old, old)))  # type: ignore[operator]
    if says in ("to itself", "is added to w itself"):
        pairs = [pair for pair in pairs if pair[0].arguments["w"].g is not None]
    said = matching(ANSWER, pairs, candidates(ANSWER, TRIALS[0]))
    assert said is not None
    assert said.code == code
    assert says in said.says


def test_where_nothing_was_stored_there_is_nothing_to_say() -> None:
    assert list(candidates(ANSWER, TRIALS[1])) == []


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ((0.1, 0.9), "the new gradient counts 0.1 times and what was stored before 0.9 times"),
        ((1.0, 0.9), "the new gradient counts 1 times and what was stored before 0.9 times"),
        ((-0.1, 1.0), "the new gradient counts -0.1 times"),
    ],
)
def test_old_and_new_with_weights_of_their_own(weights: tuple[float, float], says: str) -> None:
    """As in a running average, a momentum, a step of training."""
    pairs = []
    for one in TRIALS:
        old, right = one.arguments["w"].g, one.expected["w.g"]
        assert right is not None
        pairs.append((one, right if old is None else weights[0] * (right - old) + weights[1] * old))
    code, clause = mixed_with_prior(ANSWER, pairs) or ("", "")
    assert code == "wrong-factor"
    assert says in clause
    assert mixed_with_prior(ANSWER, [(one, array**3) for one, array in pairs]) is None

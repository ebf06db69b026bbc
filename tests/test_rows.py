"""Which rows counted: patterns that have a name, any others, and rows with weights of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from grader.diagnosis.diagnose import matching
from grader.diagnosis.rows import candidates, counted
from grader.exercise import Exercise, returned, stored
from grader.reference.references import make_trials
from grader.reference.trial import Trial
from grader.sampling import accumulating, normal, output

LAYER = Exercise(
    "a layer",
    lambda x, w, b: x @ w + b,
    {"x": normal("bs n"), "w": accumulating(normal("n m")), "b": normal("m"), "out": output()},
    stored("w.g", "b.g"),
)
LOSS = Exercise(
    "the loss of a layer",
    lambda x, w, t: ((x @ w).tanh() - t).pow(2).mean(),
    {"x": normal("bs n"), "w": normal("n 1"), "t": normal("bs 1")},
    returned("w"),
)
Rows = Callable[[int], list[int]]


def told(exercise: Exercise, weights: Callable[[int], torch.Tensor], answer: int = 0) -> tuple[str, str]:
    """Code and clause for an answer in which the examples have these weights; empty where nothing matches."""
    trials, asked = make_trials(exercise, np.random.default_rng(5)), exercise.answers[answer]
    pairs = [(trial, np.asarray(_weighed(trial, asked.wrt, weights))) for trial in trials]
    named = matching(asked, pairs, candidates(exercise, asked, trials[0]))
    if named is not None:
        return named.code, named.says
    code, says, *_ = counted(exercise, asked, pairs) or ("", "")
    return code, says


def _weighed(trial: Trial, wrt: str, weights: Callable[[int], torch.Tensor]) -> torch.Tensor:
    x, scale = trial.inputs["x"], weights(len(trial.inputs["x"]))[:, None]
    if "t" in trial.inputs:
        y = (x @ trial.inputs["w"]).tanh()
        return x.T @ (scale * 2 * (y - trial.inputs["t"]) * (1 - y**2)) / y.numel()
    assert trial.out_g is not None
    if wrt == "b":
        return (scale * trial.out_g).sum(0)
    prior = trial.arguments["w"].g
    return x.T @ (scale * trial.out_g) + (0 if prior is None else torch.from_numpy(prior))


def only(rows: slice) -> Callable[[int], torch.Tensor]:
    def weights(count: int) -> torch.Tensor:
        found = torch.zeros(count, dtype=torch.float64)
        found[rows] = 1
        return found

    return weights


def some(count: int) -> torch.Tensor:
    return torch.tensor([float(i % 3 != 1) for i in range(count)], dtype=torch.float64)


def second_twice(count: int) -> torch.Tensor:
    return torch.tensor([2.0 if i == 1 else 1.0 for i in range(count)], dtype=torch.float64)


@pytest.mark.parametrize(
    ("weights", "code", "says"),
    [
        (only(slice(0, None, 2)), "partial-batch", "only every other one counted"),
        (only(slice(1, None, 2)), "partial-batch", "only every other one counted, not the first"),
        (only(slice(1, None)), "partial-batch", "the first of bs"),
        (lambda n: only(slice(0, n // 2 * 2))(n), "partial-batch", "only whole groups of 2 counted"),
        (lambda n: only(slice(0, n // 2))(n), "partial-batch", "only the first half counted"),
        (lambda n: torch.arange(n, 0, -1).double(), "wrong-factor", "the first counts most often"),
        (some, "partial-batch", "only those numbered 0"),
        (second_twice, "wrong-factor", "number 1 counts twice"),
    ],
)
@pytest.mark.parametrize(("exercise", "answer"), [(LAYER, 0), (LAYER, 1), (LOSS, 0)])
def test_the_rows_that_counted_are_told(
    exercise: Exercise, answer: int, weights: Callable[[int], torch.Tensor], code: str, says: str
) -> None:
    found, clause = told(exercise, weights, answer)
    assert found == code
    assert says in clause


def test_rows_with_weights_of_their_own_are_told_where_there_are_entries_enough() -> None:
    code, says = told(LAYER, lambda n: 0.1 * 0.9 ** torch.arange(n, dtype=torch.float64))
    assert code == "wrong-factor"
    assert "not all count alike: the first 0.1 times" in says


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_rows_that_count_alike_are_no_matter_of_rows(weight: float) -> None:
    assert told(LAYER, lambda n: torch.full((n,), weight, dtype=torch.float64)) == ("", "")


def test_what_is_no_sum_of_rows_is_not_told() -> None:
    trials, asked = make_trials(LAYER, np.random.default_rng(5)), LAYER.answers[1]
    right = [(trial, trial.expected["b.g"]) for trial in trials]
    assert counted(LAYER, asked, [(t, r**2 + 1) for t, r in right if r is not None]) is None

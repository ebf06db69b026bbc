"""Which rows counted: patterns that have a name, any others, and rows with weights of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from helpers.verdicts import assert_named, verdict

from grader.course.exercise import Exercise, returned, stored
from grader.course.sampling import accumulating, indices, normal, output

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
Weights = Callable[[int], torch.Tensor]


def weighed(weights: Weights, answer: str) -> Callable[[dict[str, Any]], torch.Tensor]:
    """The right answer with these weights of the examples; what was stored before is kept."""

    def new(v: dict[str, Any], scale: torch.Tensor) -> torch.Tensor:
        if answer == "b.g":
            return (scale * v["out_g"]).sum(0)
        if answer == "w.g":
            return v["x"].T @ (scale * v["out_g"])
        y = (v["x"] @ v["w"]).tanh()
        return v["x"].T @ (scale * 2 * (y - v["t"]) * (1 - y**2)) / y.numel()

    def rule(v: dict[str, Any]) -> torch.Tensor:
        scale = weights(len(v["x"]))[:, None]
        return torch.from_numpy(v["right"]) + new(v, scale) - new(v, torch.ones_like(scale))

    return rule


def only(rows: Callable[[int], slice] | slice) -> Weights:
    def weights(count: int) -> torch.Tensor:
        found = torch.zeros(count, dtype=torch.float64)
        found[rows if isinstance(rows, slice) else rows(count)] = 1
        return found

    return weights


def some(count: int) -> torch.Tensor:
    return torch.tensor([float(i % 3 != 1) for i in range(count)], dtype=torch.float64)


PATTERNS = [
    (only(slice(0, None, 2)), "partial-batch: every other"),
    (only(slice(1, None, 2)), "partial-batch: every other"),
    (only(lambda n: slice(0, n // 2 * 2)), "partial-batch"),
    (only(lambda n: slice(0, n // 2)), "partial-batch: half"),
    (lambda n: torch.arange(n, 0, -1).double(), "wrong-factor"),
]
ANSWERS = [(LAYER, "w.g"), (LAYER, "b.g"), (LOSS, "return")]


@pytest.mark.parametrize(("weights", "pattern"), PATTERNS)
@pytest.mark.parametrize(("exercise", "answer"), ANSWERS)
def test_a_pattern_of_rows_is_told(exercise: Exercise, answer: str, weights: Weights, pattern: str) -> None:
    assert_named(exercise, weighed(weights, answer), pattern, answer)


@pytest.mark.parametrize(("exercise", "answer"), ANSWERS)
def test_all_rows_but_the_first_are_some_terms_of_the_sum(exercise: Exercise, answer: str) -> None:
    rule = weighed(only(slice(1, None)), answer)
    assert_named(exercise, rule, "partial-batch: first", answer)


@pytest.mark.parametrize(("exercise", "answer"), ANSWERS)
def test_rows_in_no_pattern_are_told_by_their_numbers(exercise: Exercise, answer: str) -> None:
    assert_named(exercise, weighed(some, answer), "partial-batch", answer)


def test_rows_with_weights_of_their_own_are_told_where_there_are_entries_enough() -> None:
    rule = weighed(lambda n: 0.1 * 0.9 ** torch.arange(n, dtype=torch.float64), "w.g")
    assert_named(LAYER, rule, "wrong-factor")


def test_rows_that_count_alike_are_no_matter_of_rows() -> None:
    rule = weighed(lambda n: torch.full((n,), 0.5, dtype=torch.float64), "w.g")
    assert "row" not in verdict(LAYER, rule).says


def test_what_is_no_sum_of_rows_is_not_told() -> None:
    assert_named(LAYER, lambda v: v["right"] ** 2 + 1, "unknown", "b.g")


def test_a_selection_of_other_than_one_entry_in_each_row_is_searched() -> None:
    """A path through a table has as many steps as it likes, and the operators that spread a gradient skip it."""
    path = Exercise(
        "",
        lambda a, y: a[y[:-1], y[1:]].sum() - a.logsumexp(1).sum(),
        {"a": normal("k k"), "y": indices("t", "k")},
        stored("a.g"),
    )

    def exchanged(k: dict[str, Any]) -> Any:
        y, g = k["y"], -torch.softmax(k["a"], 1)
        return g.index_put((y[1:], y[:-1]), torch.ones(len(y) - 1, dtype=g.dtype), accumulate=True)

    assert_named(path, exchanged, "transposed: the two indices are swapped")

"""Which gradients are right at inputs on a kink: any convention's, and no others."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from grader.exercise import Exercise, stored
from grader.reference.subdifferential import subdifferentials
from grader.reference.trial import Trial
from grader.sampling import Array, normal, output
from grader.trial_sizes import EXACT_KIND, Setting


def relu(x: torch.Tensor) -> torch.Tensor:
    return x.relu()


def trial_of(
    forward: Callable[..., torch.Tensor], upstream: list[float], **inputs: list[float]
) -> tuple[Exercise, Trial]:
    """An exercise, and a trial of it with these numbers."""
    declared = {name: normal("n") for name in inputs}
    exercise = Exercise("a title", forward, {**declared, "out": output()}, stored(*(f"{name}.g" for name in inputs)))
    values = {name: torch.tensor(numbers, dtype=torch.float64) for name, numbers in inputs.items()}
    leaves = {name: value.clone().requires_grad_() for name, value in values.items()}
    out, out_g = forward(**leaves), torch.tensor(upstream, dtype=torch.float64)
    gradients = torch.autograd.grad((out * out_g).sum(), list(leaves.values()))
    expected = {f"{name}.g": gradient.numpy() for name, gradient in zip(leaves, gradients, strict=True)}
    arguments = {name: Array(value.numpy(), ("n",)) for name, value in values.items()}
    return exercise, Trial(Setting(0, EXACT_KIND, {"n": 3}), arguments, expected, values, out.detach(), out_g)


def wrong(forward: Callable[..., torch.Tensor], x: list[float], upstream: list[float], array: list[float]) -> list[int]:
    """The entries of an array that are wrong as the gradient of x."""
    found = subdifferentials(*trial_of(forward, upstream, x=x))[("x.g",)]
    return np.flatnonzero(found.wrong_entries(np.array(array))).tolist()


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0])
def test_at_0_relu_may_have_any_slope_between_those_on_both_sides(slope: float) -> None:
    assert wrong(relu, [0.0, 2.0, -1.0], [5.0, 1.0, 1.0], [5 * slope, 1, 0]) == []


@pytest.mark.parametrize("slope", [-3.0, 1.01, 1e6, math.nan, math.inf])
def test_at_0_relu_may_have_no_other_slope(slope: float) -> None:
    assert 0 in wrong(relu, [0.0, 2.0, -1.0], [5.0, 1.0, 1.0], [5 * slope, 1, 0])


def test_every_other_entry_is_judged_at_a_kink() -> None:
    assert wrong(relu, [0.0, 2.0, -1.0], [5.0, 1.0, 1.0], [0, 3, 0]) == [1]


@pytest.mark.parametrize("shares", [[2, 0, 0], [0, 2, 0], [1, 1, 0], [0.5, 1.5, 0]])
def test_equal_maxima_may_share_in_any_way(shares: list[float]) -> None:
    assert wrong(lambda x: x.amax(0, True), [4.0, 4.0, 1.0], [2.0], shares) == []


@pytest.mark.parametrize("shares", [[2, 2, 0], [0, 0, 0], [1, 0.5, 0], [3, -1, 0], [1, 0.5, 0.5]])
def test_equal_maxima_together_get_what_arrives(shares: list[float]) -> None:
    assert wrong(lambda x: x.amax(0, True), [4.0, 4.0, 1.0], [2.0], shares) != []


def test_many_ties_are_all_seen() -> None:
    """Each of nine equal entries in thirty rows may be the winner, however rarely it is one near the inputs."""
    exercise, trial = trial_of(lambda x: x.reshape(30, 9).amax(1), [1.0] * 30, x=[0.0] * 270)
    found = subdifferentials(exercise, trial)[("x.g",)]
    assert len(found.directions) == 30 * 8
    assert not found.wrong_entries(np.full(270, 1 / 9)).any()


def test_two_inputs_share_what_arrives_at_the_larger_of_them() -> None:
    exercise, trial = trial_of(lambda a, b: a.maximum(b), [3.0, 1.0, 1.0], a=[2.0, 1.0, 0.0], b=[2.0, 0.0, 1.0])
    found = subdifferentials(exercise, trial)
    assert set(found) == {("a.g",), ("b.g",)}  # their sum is the same whatever the convention
    assert not found["a.g",].wrong_entries(np.array([3.0, 1.0, 0.0])).any()
    assert not found["b.g",].wrong_entries(np.array([3.0, 0.0, 1.0])).any()


def test_kinks_of_one_layer_are_closed_and_opened_one_by_one() -> None:
    """b reaches two kinks: what they add to its gradient may be none of it, all of it, or that of either."""
    inputs, upstream = {"x": [0.0, 0.0, 1.0], "b": [0.0]}, [2.0, 3.0, 7.0]
    exercise, trial = trial_of(lambda x, b: (x + b).relu(), upstream, **inputs)
    found = subdifferentials(exercise, trial)["b.g",]
    for opened in (0, 2, 3, 5):
        assert not found.wrong_entries(np.array([7.0 + opened])).any()


def test_where_there_is_no_kink_there_is_no_other_answer() -> None:
    assert subdifferentials(*trial_of(lambda x: x.tanh() * x, [1.0, 2.0, 3.0], x=[0.0, 0.0, 1.0])) == {}


def test_a_variance_of_0_is_no_kink() -> None:
    def normed(x: torch.Tensor) -> torch.Tensor:
        return (x - x.mean()) / ((x - x.mean()).pow(2).mean() + 1e-5).sqrt()

    assert subdifferentials(*trial_of(normed, [1.0, 2.0, 3.0], x=[0.0, 0.0, 0.0])) == {}

"""Unit 13: the references agree with torch, and the worked engines go through long and busy graphs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from grader.authoring.build import worked_text
from grader.course.course import Course
from grader.reference.trials import make_trials

Program = Sequence[tuple[Any, ...]]
OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "matmul": lambda a, b: a @ b,
    "exp": torch.exp,
    "log": torch.log,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "softmax": lambda a: a.softmax(-1),
}
LONG = 100_000


def by_torch(program: Program, inputs: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """The gradients of the last value, by torch's autograd."""
    leaves = [value.detach().clone().requires_grad_() for value in inputs]
    values: list[Any] = list(leaves)
    for name, first, *more in program:
        if name == "const":
            values.append(torch.tensor(first, dtype=torch.float64))
        elif name == "pow":
            values.append(values[first] ** more[0])
        elif name == "sum":
            values.append(values[first].sum(*more))
        else:
            values.append(OPERATIONS[name](*(values[i] for i in (first, *more))))
    found = torch.autograd.grad(values[-1], leaves, allow_unused=True)
    pairs = zip(leaves, found, strict=True)
    return [np.zeros(leaf.shape) if gradient is None else gradient.numpy() for leaf, gradient in pairs]


def worked(course: Course, name: str) -> Callable[..., Any]:
    """The function of a worked solution."""
    names: dict[str, Any] = {}
    exec(worked_text(course.find(name)), names)
    return names[name]  # type: ignore[no-any-return]


@pytest.mark.parametrize("seed", range(4))
def test_the_gradients_of_numbers_are_those_of_torch(seed: int, course: Course) -> None:
    for trial in make_trials(course.find("value_engine").function, np.random.default_rng(seed)):
        program, x = trial.inputs["program"], trial.inputs["x"]
        right = [float(gradient) for gradient in by_torch(program, list(x))]
        np.testing.assert_allclose(trial.expected["return"], right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_gradients_of_tensors_are_those_of_torch(seed: int, course: Course) -> None:
    for trial in make_trials(course.find("tensor_engine").function, np.random.default_rng(seed)):
        for place, right in enumerate(by_torch(trial.inputs["program"], trial.inputs["tensors"])):
            np.testing.assert_allclose(trial.expected[f"return.{place}"], right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_gradients_of_several_walks_are_those_of_torch(seed: int, course: Course) -> None:
    for trial in make_trials(course.find("engine_twice").function, np.random.default_rng(seed)):
        leaves = [value.clone().requires_grad_() for value in trial.inputs["x"]]
        values: list[Any] = list(leaves)
        for name, *taken in trial.inputs["program"]:
            if name == "zero_grad":
                for leaf in leaves:
                    leaf.grad = None
            elif name == "backward":
                values[taken[0]].backward(retain_graph=True)
            else:
                do = torch.Tensor.detach if name == "detach" else OPERATIONS[name]
                values.append(do(*(values[i] for i in taken)))
        right = [0.0 if leaf.grad is None else float(leaf.grad) for leaf in leaves]
        np.testing.assert_allclose(trial.expected["return"], right, rtol=1e-10, atol=1e-12)


def test_a_chain_of_a_hundred_thousand_steps_is_gone_through(course: Course) -> None:
    program: list[tuple[Any, ...]] = [("tanh", 0)]
    program += [("add", i, 0) if i % 2 else ("sub", i, 1) for i in range(1, LONG)]
    (found,) = worked(course, "value_engine")(program, torch.tensor([0.7], dtype=torch.float64))
    slope = 1 - math.tanh(0.7) ** 2
    assert found == pytest.approx(slope + LONG // 2 - (LONG // 2 - 1) * slope)


def test_a_value_that_is_used_twenty_times_gets_twenty_contributions(course: Course) -> None:
    program: list[tuple[Any, ...]] = [("tanh", 0), *(("mul", 1 + i, 1) for i in range(20))]
    found = worked(course, "value_engine")(program, torch.tensor([0.7], dtype=torch.float64))
    assert found == pytest.approx([21 * math.tanh(0.7) ** 20 * (1 - math.tanh(0.7) ** 2)])

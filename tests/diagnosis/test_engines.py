"""Engines as a spec declares them: what each rule, step and habit does to the gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from grader.diagnosis.engines import Engine

STEPS = [("mul", 0, 1), ("tanh", 2)]
A, B = 0.5, 0.7
SLOPE = 1 - np.tanh(A * B) ** 2


@pytest.mark.parametrize(
    ("engine", "gradients"),
    [
        (Engine(), (SLOPE * B, SLOPE * A)),
        (Engine({"tanh": ("upstream",)}), (B, A)),
        (Engine({"tanh": ("negated",)}), (-SLOPE * B, -SLOPE * A)),
        (Engine({"mul": ("nothing", None)}), (0, SLOPE * A)),
        (Engine({"mul": ("exchanged", "exchanged")}), (SLOPE * A, SLOPE * B)),
        (Engine({"mul": ("without upstream",) * 2}), (B, A)),
        (Engine({"tanh": (lambda g, y, a: 3 * g,)}), (3 * B, 3 * A)),
        (Engine(forwards={"mul": lambda a, b: a + b}), ((1 - np.tanh(A + B) ** 2) * B, (1 - np.tanh(A + B) ** 2) * A)),
        (Engine(made_of={"mul": [("mul", -2, -1)]}), (SLOPE * B, SLOPE * A)),
        (Engine(walk={"first": lambda y: y}), (np.tanh(A * B) * SLOPE * B, np.tanh(A * B) * SLOPE * A)),
    ],
)  # fmt: skip
def test_an_engine_goes_back_as_it_is_declared(engine: Engine, gradients: tuple[float, float]) -> None:
    assert engine.gradients(STEPS, (A, B)) == pytest.approx(gradients)


def test_a_step_that_writes_into_what_it_takes_changes_what_others_took() -> None:
    steps = [("tanh", 0), ("relu", 1), ("mul", 1, 2), ("sum", 3)]
    x = torch.tensor([-2.0, 3.0], dtype=torch.float64)
    (right,), (wrong,) = Engine().gradients(steps, (x,)), Engine(in_place=("mul",)).gradients(steps, (x,))
    y = np.tanh(x.numpy())
    np.testing.assert_allclose(right, (1 - y**2) * 2 * y * (y > 0))
    np.testing.assert_allclose(wrong, (1 - y**2) * (y**2 + y) * (y > 0))  # y has become y**2 for the second factor
    assert x.tolist() == [-2.0, 3.0]


def test_gradients_of_broadcast_operands_are_summed_as_it_is_declared() -> None:
    steps, given = [("add", 0, 1), ("sum", 2)], (torch.ones(2, 3), torch.ones(3))
    assert (Engine().gradients(steps, given)[1] == 2).all()
    engine = Engine({"add": (lambda g, y, a, b: g,) * 2}, summed={"add": lambda g, like: g})
    assert engine.gradients(steps, given)[1].shape == (2, 3)


def test_what_inputs_keep_between_calls_is_declared() -> None:
    steps = [("tanh", 0), ("backward", 1), ("backward", 1)]
    slope = 1 - np.tanh(A) ** 2
    assert Engine().script_gradients(steps, (A,)) == pytest.approx([2 * slope])
    assert Engine(session={"kept": "nothing"}).script_gradients(steps, (A,)) == pytest.approx([slope])

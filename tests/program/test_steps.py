"""Steps that are given as data: their program, torch's gradients of them, and engines that walk back in other ways."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from grader.program.steps import autograd_of_steps, expand_steps, program_of_steps, script_of_steps
from grader.program.walks import BackwardCalls, Skip, Walk, skipped_edges

NUMBERS = [
    ("mul", 0, 1), ("sub", 3, 2), ("tanh", 4), ("div", 5, 0), ("exp", 6), ("pow", 7, 1.5), ("log", 8), ("const", 2.0),
    ("add", 9, 10), ("relu", 11), ("mul", 12, 3),
]  # fmt: skip
TENSORS = [
    ("matmul", 0, 1),
    ("add", 4, 2),
    ("softmax", 5),
    ("mul", 6, 3),
    ("relu", 7),
    ("mul", 8, 6),
    ("sum", 9, 1),
    ("sum", 10),
]
SHAPES = ((3, 4), (4, 5), (5,), (3, 1))


def inputs_of(name: str) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    shapes = SHAPES if name == "tensors" else ((),) * 3
    return [np.asarray(generator.uniform(0.5, 1.5, shape)) for shape in shapes]


@pytest.mark.parametrize(("name", "steps"), [("numbers", NUMBERS), ("tensors", TENSORS)])
def test_a_program_of_steps_and_a_walk_have_torch_s_gradients(name: str, steps: list) -> None:
    inputs = inputs_of(name)
    right = autograd_of_steps(steps, [torch.from_numpy(value) for value in inputs])
    program = program_of_steps(steps, inputs)
    walked = Walk().gradients(program.forward)
    for i, gradient in enumerate(right):
        np.testing.assert_allclose(program.gradients()[str(i)], gradient, rtol=1e-12)
        np.testing.assert_allclose(walked[i], gradient, rtol=1e-12)


def test_an_input_that_nothing_depends_on_has_no_gradient_in_a_walk_and_zeros_from_torch() -> None:
    steps = [("tanh", 0)]
    assert Walk().gradients(program_of_steps(steps, [0.5, 0.6]).forward)[1] is None
    assert autograd_of_steps(steps, torch.tensor([0.5, 0.6]).unbind())[1] == 0


def test_a_difference_can_be_made_of_other_steps() -> None:
    definition = {"sub": [("const", -1.0), ("mul", -2, 0), ("add", -1, 1)]}
    expanded = expand_steps([("mul", 0, 1), ("sub", 2, 0), ("tanh", 3)], 2, definition)
    assert expanded == [("mul", 0, 1), ("const", -1.0), ("mul", 0, 3), ("add", 2, 4), ("tanh", 5)]


SCRIPT = [
    ("mul", 0, 1), ("tanh", 2), ("backward", 3), ("zero_grad",), ("detach", 2), ("mul", 3, 4), ("backward", 5),
    ("add", 5, 3), ("backward", 6), ("backward", 3),
]  # fmt: skip


def test_several_calls_have_torch_s_gradients() -> None:
    right = autograd_of_steps(SCRIPT, torch.tensor([0.5, 0.7], dtype=torch.float64).unbind())
    np.testing.assert_allclose(BackwardCalls().gradients(script_of_steps(SCRIPT, [0.5, 0.7])), right, rtol=1e-12)


@pytest.mark.parametrize(
    "session",
    [
        BackwardCalls(kept="nothing"), BackwardCalls(kept="all"), BackwardCalls(cleared="nothing"),
        BackwardCalls(newest=True), BackwardCalls(done="made"), BackwardCalls(done="walked"), BackwardCalls(cut=True),
        BackwardCalls(Walk(keep=lambda old, new, *_: new)),
    ],
)  # fmt: skip
def test_every_other_session_gives_other_gradients(session: BackwardCalls) -> None:
    script = script_of_steps(SCRIPT, [0.5, 0.7])
    assert not np.allclose(session.gradients(script), BackwardCalls().gradients(script))


def test_what_a_walk_hands_on_too_early_is_not_all_that_arrives() -> None:
    """v = tanh x is used by v * v, and that and v by the sum: whoever visits v first has not heard of the square."""
    steps = [("tanh", 0), ("mul", 1, 1), ("add", 1, 2)]
    forward = program_of_steps(steps, [0.5]).forward
    v = np.tanh(0.5)
    slope = 1 - v * v
    assert Walk().gradients(forward)[0] == pytest.approx(slope * (1 + 2 * v))
    assert Walk(order="oldest met first").gradients(forward)[0] == pytest.approx(slope)
    assert Walk(order="oldest met first", again=True).gradients(forward)[0] > slope * (1 + 2 * v)
    assert Walk(order="edge by edge").gradients(forward)[0] > slope * (1 + 2 * v)
    assert Walk(order="earliest first").gradients(forward)[0] is None
    assert Walk(skip="repeated").gradients(forward)[0] == pytest.approx(slope * (1 + v))
    assert Walk(keep=lambda old, new, *_: new).gradients(forward)[0] == pytest.approx(slope * v)
    assert Walk(first=lambda y: 3 * np.ones_like(y)).gradients(forward)[0] == pytest.approx(3 * slope * (1 + 2 * v))


@pytest.mark.parametrize(
    ("skip", "edges"),
    [
        ("dead", {(3, 0), (3, 1)}), ("repeated", {(3, 0)}), ("all but the last", {(2, 0), (3, 0), (3, 1)}),
        ("awaiting", {(2, 0), (2, 1), (3, 0), (3, 1)}), ("before dead", {(2, 0), (2, 1), (3, 0), (3, 1)}),
        ("same number", set()),
    ],
)  # fmt: skip
def test_edges_that_an_engine_does_not_go_through(skip: Skip, edges: set) -> None:
    steps = [("mul", 0, 1), ("add", 2, 2), ("tanh", 2), ("add", 4, 0)]  # the second one is dead
    forward = program_of_steps(steps, [0.5, 0.7]).forward
    assert skipped_edges(forward, skip) == edges
    assert skipped_edges(forward, skip, ("exp",)) == set()

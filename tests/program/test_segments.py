"""A segment has the Jacobian of a part of the forward pass, its transpose, and the inverse of that."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.forwards import draw, recurrence, recurrent_inputs

from grader.program.operation import NoCandidate
from grader.program.program import Program
from grader.program.recording import record
from grader.program.segments import Segment, segment


def states(program: Program) -> list[int]:
    """Return the ids of the states that the recurrence makes, the first one first."""
    return list(program.nodes_of("tanh"))


def step_of(program: Program, number: int) -> Segment:
    """Return the function by which one state of the recurrence depends on the state before it."""
    ids = states(program)
    found = segment(program.forward, ids[number - 1], ids[number], set(ids))
    assert found is not None
    return found


@pytest.fixture
def program() -> Program:
    return record(recurrence, recurrent_inputs(), draw(g=(3, 2, 3))["g"])


def test_pull_is_the_transpose_of_push(program: Program) -> None:
    step, rng = step_of(program, 2), np.random.default_rng(0)
    shape = program.forward.shapes[step.value]
    g, direction = rng.standard_normal(shape), rng.standard_normal(shape)
    assert np.vdot(step.pull(g), direction) == pytest.approx(np.vdot(g, step.push(direction)))


def test_solve_undoes_pull(program: Program) -> None:
    step = step_of(program, 1)
    g = np.random.default_rng(1).standard_normal(program.forward.shapes[step.value])
    np.testing.assert_allclose(step.pull(step.solve(g)), g, rtol=1e-6)


def test_no_path_goes_through_an_excluded_value(program: Program) -> None:
    first, second, third, *_ = states(program)
    assert segment(program.forward, first, third, {second}) is None
    assert segment(program.forward, third, first, set()) is None


def test_a_jacobian_without_an_inverse_is_no_candidate() -> None:
    inputs = draw(x=(3, 3), g=(3, 3))
    g = inputs.pop("g")
    program = record(lambda x: (x * 2 - x - x) @ x, inputs, g)
    (x,) = program.inputs.values()
    difference = program.nodes_of("sub")[-1]
    found = segment(program.forward, x, difference, set())
    assert found is not None
    with pytest.raises(NoCandidate):
        found.solve(np.ones((3, 3)))

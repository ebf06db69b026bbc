"""The constants of a recorded forward pass: which calls make them, and what they are with another result of a call."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from grader.program.constants import ConstantCall
from grader.program.recording import record

X = {"x": torch.ones(3, 3)}


def one_more(call: ConstantCall) -> Tensor:
    return call.run() + 1


def test_a_constant_is_made_again_from_another_result_of_a_call() -> None:
    program = record(lambda x: x * (10 ** torch.arange(3)[:, None]), X)
    constants = program.forward.constants
    (call,) = [call for call in constants.read_calls if call.name == "arange"]
    (array,) = constants.rerun(call.key, one_more).values()
    np.testing.assert_array_equal(array, [[10], [100], [1000]])


def test_a_constant_that_was_written_to_is_not_made_again() -> None:
    def forward(x: Tensor) -> Tensor:
        mask = torch.ones(3, 3)
        mask[0] = 0
        return x * mask

    constants = record(forward, X).forward.constants
    (call,) = constants.read_calls
    assert constants.rerun(call.key, one_more) == {}


def test_a_random_constant_is_not_drawn_again() -> None:
    program = record(lambda x: x * torch.rand(3, 3).round(), X)
    state = torch.get_rng_state()
    for call in program.forward.constants.read_calls:
        program.forward.constants.rerun(call.key, one_more)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_whole_number_may_change_what_is_recorded() -> None:
    def forward(x: Tensor, k: int) -> Tensor:
        for _ in range(k):
            x = x.sin()
        return x

    program = record(forward, {**X, "k": 3})
    assert program.numbers == {"k": 3}
    assert program.record_with_number is not None
    assert len(program.record_with_number("k", 2).nodes_of("sin")) == 2

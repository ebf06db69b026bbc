"""Where operators can be applied, and what there is to choose: the program decides, and not chance."""

from __future__ import annotations

import re

import pytest
import torch
from helpers.forwards import draw

from grader.diagnosis.operators import carries, contract, places, recurrences
from grader.program.recording import record


def test_a_code_that_nothing_lists_is_refused_with_the_place_of_the_list() -> None:
    register = contract.operator("cubed", code="no-such", rank=1.0, at=places.edges, message="it is cubed")
    with pytest.raises(ValueError, match=re.escape("no-such is not a code of grader.results.codes")):
        register(lambda program, place, choice: program)


def test_the_states_of_two_loops_are_not_carried_together() -> None:
    def two_loops(x, y, u, p, q):
        for row in x:
            p = torch.tanh(row + p * u)
        for row in y:
            q = torch.tanh(row + q * u)
        return p + q

    def one_loop(x, y, u, p, q):
        for row, other in zip(x, y, strict=True):
            p, q = torch.tanh(row + q * u), torch.tanh(other + p * u)
        return p + q

    for forward, counts in ((two_loops, [1, 1]), (one_loop, [1, 2])):
        program = record(forward, draw(x=(3, 2), y=(3, 2), u=(2,), p=(2,), q=(2,)))
        keys = dict.fromkeys(node.key for node in program.nodes if node.name == "tanh")
        firsts = [(program.forward.by_key[key][0], places.WHOLE) for key in keys]
        assert sorted(len(list(recurrences.keys_carried_together(program, first))) for first in firsts) == counts


def test_a_fixed_point_is_sought_by_a_loop_with_one_state() -> None:
    def one_state(x, w):
        h = torch.zeros_like(x)
        for _ in range(20):
            h = torch.tanh(h * w / 10 + x)
        return h

    def two_states(x, w):
        p, q = torch.zeros_like(x), torch.zeros_like(x)
        for _ in range(20):
            p, q = torch.tanh(q * w / 10 + x), torch.tanh(p * w / 10 - x)
        return p + q

    for forward, steps in ((one_state, [20]), (two_states, [0, 0])):
        program = record(forward, draw(x=(3, 2), w=(2,)))
        keys = dict.fromkeys(node.key for node in program.nodes if node.name == "tanh")
        firsts = [(program.forward.by_key[key][0], places.WHOLE) for key in keys]
        assert [len(carries.fixed_point_steps(program, first)) for first in firsts] == steps

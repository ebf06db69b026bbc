"""Where operators can be applied, and what there is to choose: the program decides, and not chance."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from helpers.forwards import draw
from torch.nn import functional as F

from grader.diagnosis.edits import Edit
from grader.diagnosis.operators import OPERATORS, carries, contract, forward_pass, indexing, places, recurrences
from grader.program.program import Program
from grader.program.recording import record

NAMED = {operator.name: operator for operator in OPERATORS}


def edits_of(program: Program, name: str) -> list[Edit]:
    """Every edit that the operator with this name can make in a program."""
    operator = NAMED[name]
    spots = operator.at.spots(program)
    return [Edit(operator, spot, choice) for spot in spots for choice in operator.choices_at(program, spot)]


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


@pytest.mark.parametrize("how", indexing.ALTERED_INDICES)
def test_an_altered_index_is_made_of_that_of_the_same_iteration(how: str) -> None:
    index = np.array([[3, 0, 2], [4, 1, 3], [2, 0, 4]])
    weights = draw(w=(3, 3))["w"]

    def forward(x, index):
        return torch.stack([(x[row] * torch.from_numpy(w)).sum() for row, w in zip(index, weights, strict=True)]).sum()

    program = record(forward, {**draw(x=(5,)), "index": index})
    gradients = [
        edit.apply(program).gradients()["x"]
        for edit in edits_of(program, "other-index-in-backward-pass")
        if getattr(edit.choice.name, "how", "") == how
    ]
    wrong = np.zeros(5)
    for row, w in zip(index, weights, strict=True):
        np.add.at(wrong, np.sort(row) if "sorted" in how else np.arange(3), w)
    assert len(gradients) == 1
    assert np.allclose(gradients[0], wrong)


def test_a_constant_index_is_that_of_the_same_iteration() -> None:
    constants = [torch.tensor([3, 0, 2]), torch.tensor([4, 1, 3]), torch.tensor([2, 0, 4])]
    index = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 4]])

    def forward(x, y, index):
        return sum((x[row] * y[constant]).sum() for row, constant in zip(index, constants, strict=True))

    program = record(forward, {**draw(x=(5,), y=(5,)), "index": index})
    gradients = [
        edit.apply(program).gradients()["x"]
        for edit in edits_of(program, "other-index-in-backward-pass")
        if isinstance(edit.choice.name, indexing.ConstantIndex)
    ]
    wrong = np.zeros(5)
    for constant in constants:
        np.add.at(wrong, constant.numpy(), program.nodes[program.inputs["y"]].value[constant.numpy()])
    assert gradients
    assert all(np.allclose(gradient, wrong) for gradient in gradients)


@pytest.mark.parametrize("first", [0, 1])
def test_entries_may_be_selected_forwards_along_any_axis(first: int) -> None:
    order = np.array([first, 3, 1 - first, 2])
    for forward in (lambda x, order: x[:, order], lambda x, order: x[order]):
        program = record(lambda x, order, f=forward: f(x, order).tanh(), {**draw(x=(4, 4)), "order": order})
        (edit,) = edits_of(program, "index-used-forwards")
        x = program.nodes[program.inputs["x"]].value
        assert np.allclose(edit.apply(program).gradients()["x"], forward(1 - np.tanh(forward(x, order)) ** 2, order))


ROWS_OF = {
    "rows": lambda x, i: x[i[0]], "two axes of rows": lambda x, i: x[i], "embedding": lambda x, i: F.embedding(i, x),
    "columns": lambda x, i: x[:, i[0]], "one column": lambda x, i: x[:, i], "entries": lambda x, i: x[i[0], i[0]],
    "entries of each column": lambda x, i: x.gather(0, i),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS_OF)
def test_rows_are_told_from_columns_and_entries(name: str) -> None:
    program = record(ROWS_OF[name], {**draw(x=(4, 4)), "i": np.array([[0, 3, 1, 0], [1, 2, 1, 3]])})
    choices = [edit.choice for edit in edits_of(program, "selection-forgotten")]
    takes_rows = name in ("rows", "two axes of rows", "embedding")
    assert ("every entry, averaged" in choices) is takes_rows
    (repeated, *_) = edits_of(program, "repeated-index-not-added")
    assert ("several times" in repeated.message(program), "may take a row of" in repeated.message(program)) == (
        True, takes_rows
    )  # fmt: skip


def test_the_average_over_selected_rows_runs_over_all_axes_of_the_index() -> None:
    i = np.array([[0, 3, 1], [1, 2, 2]])
    program = record(lambda x, i: x[i].sin().sum(), {**draw(x=(4, 2)), "i": i})
    (edit, *_) = [each for each in edits_of(program, "selection-forgotten") if each.choice == "every entry, averaged"]
    x = program.nodes[program.inputs["x"]].value
    assert np.allclose(edit.apply(program).gradients()["x"], np.cos(x[i]).mean((0, 1)) + 0 * x)


def test_a_factor_without_gradient_is_no_choice_of_a_square_product() -> None:
    def forward(x, w):
        return x @ w.detach() + 2 * (x @ w)

    program = record(forward, draw(x=(3, 3), w=(3, 3)))
    edits = edits_of(program, "differentiated-entry-by-entry")
    assert {(len(edit.spot.places(program)), edit.choice) for edit in edits} >= {(1, (0,)), (1, (0, 1)), (1, (1,))}
    known = set()
    for edit in edits:
        edited = edit.apply(program).gradients()
        known.add((edited["x"].tobytes(), edited["w"].tobytes()))
    right = program.gradients()
    assert len(known) == len(edits)
    assert (right["x"].tobytes(), right["w"].tobytes()) not in known


@pytest.mark.parametrize("name", ["max", "min"])
def test_of_selected_entries_only_the_extreme_is_written(name: str) -> None:
    def forward(x, i):
        return getattr(x[i], name)(1)[0]

    program = record(forward, {**draw(x=(5,)), "i": np.array([[0, 3, 1], [1, 2, 2]])})
    (selected,) = indexing.selections_of(program, program.inputs["x"])
    assert [part.sum() for part in np.split(selected.written, 2)] == [1, 1]


def test_a_class_is_taken_of_each_row() -> None:
    classes = np.array([[2, 0, 1]])
    picks = {
        "by two arrays": lambda x, c: x[torch.arange(3), c[0]],
        "by gather": lambda x, c: x.gather(1, c.T),
        "columns": lambda x, c: x[:, c[0]],
        "some rows": lambda x, c: x[[0, 2], c[0, :2]],
        "some rows by gather": lambda x, c: x.gather(1, c.T[:2]),
        "two of each row": lambda x, c: x.gather(1, torch.cat([c.T, c.T], 1)),
    }
    for name, pick in picks.items():
        program = record(pick, {**draw(x=(3, 3)), "c": classes})
        count = int(name in ("by two arrays", "by gather"))
        for operator in ("predicted-class", "class-ignored"):
            assert (name, operator, len(edits_of(program, operator))) == (name, operator, count)
    x = program.nodes[program.inputs["x"]].value
    program = record(picks["by two arrays"], {"x": x, "c": classes})
    predicted, ignored = (
        edits_of(program, operator)[0].apply(program).gradients()["x"]
        for operator in ("predicted-class", "class-ignored")
    )
    assert np.array_equal(predicted, np.eye(3)[x.argmax(1)])
    assert np.array_equal(ignored, np.ones((3, 3)))


def two_states(x, u, p, q):
    """Return the sum of two states that read each other."""
    for row in x:
        p, q = torch.tanh(row + q * u), torch.tanh(p * u - row)
    return p + q


def test_two_states_that_begin_with_one_array_are_twins_of_it() -> None:
    program = record(lambda x, u, h: two_states(x, u, h, h), draw(x=(4, 2), u=(2,), h=(2,)))
    first, second = (node.id for node in program.nodes if node.name == "tanh" and not node.iteration)
    initial = program.inputs["h"]
    assert forward_pass.is_twin(program, initial, first)
    assert forward_pass.is_twin(program, second, initial)
    assert not forward_pass.is_twin(program, initial, program.inputs["u"])


def test_a_loop_may_start_from_the_last_of_each_of_its_states() -> None:
    inputs = draw(x=(4, 2), u=(2,), h=(2,))
    program = record(lambda x, u, h: two_states(x, u, h, h), inputs)
    *_, last_p, last_q = (node.value for node in program.nodes if node.name == "tanh")
    h, zeros = inputs["h"], np.zeros(2)
    wrong = set()
    for start in ((zeros, h), (h, zeros), (zeros, zeros), (last_p, h), (h, last_q), (last_p, last_q)):
        p, q, u = (torch.tensor(each, requires_grad=True) for each in (*start, inputs["u"]))
        two_states(torch.tensor(inputs["x"]), u, p, q).sum().backward()
        wrong.add(tuple(np.round(np.concatenate([p.grad + q.grad, u.grad]), 9)))
    edits = [edit.apply(program).gradients() for edit in edits_of(program, "recomputed-from-another-state")]
    assert {tuple(np.round(np.concatenate([each["h"], each["u"]]), 9)) for each in edits} == wrong
    assert len(edits) == len(wrong)

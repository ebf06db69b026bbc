"""Nodes and values are selected anew in the program of any trial; loops, skip connections and uses are told."""

from __future__ import annotations

import numpy as np
import torch
from helpers.forwards import (
    attention,
    attention_inputs,
    draw,
    first_iteration_apart,
    linear,
    lstm,
    lstm_inputs,
    recurrence,
    recurrent_inputs,
)
from torch.nn import functional as F

from grader.program.program import Program
from grader.program.queries import (
    broadcast_axes,
    composite_calls,
    contraction_of,
    edges_by_kind,
    loop_carried_values,
    loops,
    skip_connections,
)
from grader.program.recording import record
from grader.program.selectors import (
    ComputedValue,
    NamedValue,
    OperandValue,
    Selector,
    edge_selectors,
    node_selectors,
    values_by_name,
)


def key_of(program: Program, name: str, number: int = 0) -> tuple:
    return [node for node in program.nodes if node.name == name][number].key


def test_a_value_that_the_source_computes_at_several_places_is_one_group() -> None:
    def forward(x: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        y = (1 - p[0]) * x + (1 - p[0]) * x.sin()
        p = p * 2
        return y * (1 - p[0])  # reads alike, but is another value

    program = record(forward, {"x": torch.ones(3), "p": torch.ones(2)})
    (others,) = [ids for (_, text), ids in program.forward.groups["repeated"].items() if text == "1 - p[0]"]
    assert [program.nodes[i].text for i in others] == ["1 - p[0]"] * 2
    selector = next(each for each in node_selectors(program) if each.nodes(program) == others)
    assert selector.describe(program) == "every `1 - p[0]`"


def test_iterations_are_selected_in_any_number_of_them() -> None:
    three, five = (record(recurrence, recurrent_inputs(n)) for n in (3, 5))
    key = key_of(three, "tanh")
    for iterations, count in (
        ("every", 5),
        ("last", 1),
        ("first", 1),
        ("all but the last", 4),
        ("all but the first", 4),
    ):
        selector = Selector("key", key, iterations)
        assert len(selector.nodes(five)) == count
        assert all(five.nodes[i].name == "tanh" for i in selector.nodes(five))
    assert Selector("key", key, "last").describe(five) == "`torch.tanh(step @ w + h @ u)` in the last iteration"
    assert Selector("key", key, "all but the first", 0).describe(five).endswith("in every iteration but the first")


def test_a_role_joins_what_stands_on_two_lines() -> None:
    program = record(first_iteration_apart, recurrent_inputs(4))
    selectors = {s.describe(program): s for s in node_selectors(program)}
    assert len(selectors["every `matmul` of u"].nodes(program)) == 4
    assert len(selectors["every `matmul` of u but the last"].nodes(program)) == 3
    assert len(selectors["`h @ u` in the last iteration"].nodes(program)) == 1
    every = {frozenset(s.nodes(program)) for s in node_selectors(program)}
    assert len(every) == len(list(node_selectors(program)))


def test_edges_are_selected_in_a_trial_of_other_sizes() -> None:
    one, two = record(lstm, lstm_inputs(3)), record(lstm, lstm_inputs(4, 5, 2, 3))
    for selector in edge_selectors(one):
        places = selector.places(two)
        assert places
        assert {two.nodes[reader].name for reader, _ in places} == {
            one.nodes[reader].name for reader, _ in selector.places(one)
        }


def test_second_values_are_found_by_each_iteration() -> None:
    program = record(recurrence, recurrent_inputs(4))
    tanhs = [node for node in program.nodes if node.name == "tanh"]
    values = values_by_name(program, tanhs[1].id, tanhs[1].value.shape)
    names = {name.describe(program): name for name in values}
    assert {"h", "h of the previous iteration", "`step @ w`", "`h @ u`", "`step @ w + h @ u`"} <= set(names)
    before = names["h of the previous iteration"]
    assert isinstance(before, OperandValue)
    assert [before.find(program, tanh.id) for tanh in tanhs] == [program.inputs["h"], *(t.id for t in tanhs[:-1])]
    made = ComputedValue(tanhs[0].key)
    assert [made.find(program, tanh.id) for tanh in tanhs] == [tanh.id for tanh in tanhs]
    assert ComputedValue(tanhs[0].key, 1).find(program, tanhs[0].id) is None
    stack = program.nodes[-1]
    assert made.find(program, stack.id) == tanhs[-1].id  # seen from behind the loop, its last iteration
    assert NamedValue("w").find(program, stack.id) == program.inputs["w"]
    assert NamedValue("nothing").find(program, stack.id) is None


def test_loops_and_what_they_carry() -> None:
    program = record(lstm, lstm_inputs(3))
    (loop,) = loops(program)
    assert loop.iterations == 3
    carried = {program.name_of(value.initial) for value in loop.carried}
    assert carried == {"h", "c"}
    assert all(len(value.made) == 2 for value in loop.carried)
    assert loops(record(linear, draw(inp=(2, 3), w=(3, 4), b=(4,)))) == ()


def test_two_loops_after_each_other_are_two() -> None:
    def forward(x, y):
        for row in x:
            y = y * row
        for row in x:
            y = (y + row).sin()
        return y

    program = record(forward, draw(x=(3, 2), y=(2,)))
    assert [[program.nodes[program.forward.by_key[key][0]].name for key in loop.keys] for loop in loops(program)] == [
        ["mul"], ["add", "sin"]
    ]  # fmt: skip
    assert len(loop_carried_values(program)) == 2


def test_a_state_that_is_read_after_its_next_value_is_made_is_loop_carried() -> None:
    def forward(x, u, p, q):
        for row in x:
            p, q = torch.tanh(q * u + row), torch.tanh(p * u - row)
        return p + q

    program = record(forward, draw(x=(3, 2), u=(2,), p=(2,), q=(2,)))
    carried = {value.initial: value.made for value in loop_carried_values(program)}
    first, second = dict.fromkeys(node.key for node in program.nodes if node.name == "tanh")
    by_key = program.forward.by_key
    assert carried == {program.inputs["p"]: by_key[first][:-1], program.inputs["q"]: by_key[second][:-1]}


def test_a_value_of_an_earlier_loop_is_not_loop_carried() -> None:
    def forward(x, h):
        rows = [torch.tanh(row) for row in x]
        return torch.stack([row * before for row, before in zip(x, [h, *rows], strict=False)])

    assert loop_carried_values(record(forward, draw(x=(3, 2), h=(2,)))) == ()


def test_skip_connections() -> None:
    program = record(attention, attention_inputs())
    (skip,) = skip_connections(program)
    assert program.name_of(skip.value) == "x"
    assert {"softmax", "div", "matmul"} <= {program.nodes[i].name for i in skip.bypassed}
    assert program.nodes[skip.place[0]].name == "add"


def test_arrivals_tell_the_next_iteration_from_the_output() -> None:
    program = record(recurrence, recurrent_inputs(4))
    tanhs = [node for node in program.nodes if node.name == "tanh"]
    ways = edges_by_kind(program, tanhs[1].id)
    assert sorted((program.nodes[places[0][0]].name, way.slot, way.iterations) for way, places in ways.items()) == [
        ("matmul", 0, 1), ("stack", None, None)
    ]  # fmt: skip
    for way in ways:
        assert len(way.places(program, tanhs[2].id)) == 1
    assert [len(way.places(program, tanhs[3].id)) for way in sorted(ways, key=lambda w: w.slot is None)] == [0, 1]
    assert len(edges_by_kind(program, program.inputs["u"])) == 1


def test_products_and_broadcast_axes() -> None:
    program = record(lambda x, w, b: torch.einsum("bij,jk->bik", x @ w, w.T) + b, draw(x=(2, 3, 4), w=(4, 5), b=(4,)))
    product, einsum, add = (next(n for n in program.nodes if n.name == name) for name in ("matmul", "einsum", "add"))
    contraction = contraction_of(product)
    assert contraction is not None
    x, w, g = product.values[0], product.values[1], np.ones(product.value.shape)
    for slot, partner in ((0, w), (1, x)):
        np.testing.assert_allclose(np.einsum(contraction.vjp_equation(slot), g, partner), product.vjp(slot, g))
    assert (contraction.summed, contraction.summed_in_vjp(1)) == ("k", "ai")
    assert contraction_of(einsum).summed_in_vjp(0) == "k"
    assert contraction_of(add) is None
    assert (broadcast_axes(add, 0), broadcast_axes(add, 1), broadcast_axes(product, 1)) == ((), (0, 1), ())


def test_composite_calls() -> None:
    def forward(x, y, c):
        return F.cross_entropy(x, c) + F.mse_loss(x, y) + F.mse_loss(x, 2 * y)

    program = record(forward, {**draw(x=(3, 4), y=(3, 4)), "c": np.array([0, 1, 2])})
    calls = composite_calls(program)
    assert [call.name for call in calls] == ["cross_entropy", "mse_loss", "mse_loss"]
    assert program.nodes[calls[0].nodes[-1]].name == "neg"
    assert {program.nodes[i].text for i in calls[0].nodes} == {"F.cross_entropy(x, c)"}

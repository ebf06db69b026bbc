"""A program that is rewritten has the gradients that its edits say, in one sweep and by what they change."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.forwards import attention, attention_inputs, draw, linear, lstm, lstm_inputs, recurrence, recurrent_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.program.forward import SINK, Node
from grader.program.operation import OPERATIONS, NoCandidate
from grader.program.probes import draw_tangents, tolerances
from grader.program.program import EdgeContext, Program
from grader.program.recording import record

INPUTS = {"inp": (5, 4), "w": (4, 3), "b": (3,)}


def linear_program(seed: int = 0) -> Program:
    return record(linear, draw(seed, **INPUTS), np.random.default_rng(seed + 1).standard_normal((5, 3)))


def recurrent_program(iterations: int = 3) -> Program:
    return record(
        recurrence, recurrent_inputs(iterations), np.random.default_rng(1).standard_normal((iterations, 2, 3))
    )


def programs() -> dict[str, Program]:
    normal = np.random.default_rng(1).standard_normal
    return {
        "linear": linear_program(), "recurrence": recurrent_program(),
        "lstm": record(lstm, lstm_inputs(), normal((2, 2))),
        "attention": record(attention, attention_inputs(), normal((2, 3, 4))),
    }  # fmt: skip


PROGRAMS = programs()


def node_of(program: Program, name: str, number: int = 0) -> Node:
    return [node for node in program.nodes if node.name == name][number]


def test_a_contribution_is_replaced_and_the_others_stay() -> None:
    program = linear_program()
    (edge,) = program.forward.uses[program.inputs["w"]]
    other = program.with_vjp(edge, lambda at: at.right() / len(at.g))
    right, wrong = program.gradients(), other.gradients()
    np.testing.assert_allclose(wrong["w"], right["w"] / 5)
    np.testing.assert_array_equal(wrong["inp"], right["inp"])
    np.testing.assert_array_equal(program.gradients()["w"], right["w"])  # the program itself has not changed


def test_a_rule_takes_other_operands_a_value_and_options() -> None:
    inputs = draw(x=(3, 4))
    program = record(lambda x: x.std(0), inputs)
    at_twice = program.with_vjp((1, 0), lambda at: at.right(operands={0: 2 * at.x}, value=2 * at.y))
    np.testing.assert_allclose(at_twice.gradients()["x"], program.gradients()["x"])
    biased = program.with_vjp((1, 0), lambda at: at.right(correction=0))
    np.testing.assert_allclose(biased.gradients()["x"], program.gradients()["x"] * 2 / 3)


def test_a_node_hands_on_another_upstream_gradient() -> None:
    program = linear_program()
    add = node_of(program, "add")
    other = program.with_upstream(add.id, lambda at: 2 * at.g)
    for name, gradient in other.gradients().items():
        np.testing.assert_allclose(gradient, 2 * program.gradients()[name])
    ones = program.with_upstream(SINK, lambda at: np.ones_like(at.g))
    np.testing.assert_allclose(ones.gradients()["b"], np.full(3, 5.0))
    both = program.with_vjp((add.id, 1), lambda at: 3 * at.right()).with_upstream(add.id, lambda at: 2 * at.g)
    np.testing.assert_allclose(both.gradients()["b"], 6 * program.gradients()["b"])


def test_an_edge_is_dropped_and_another_is_added() -> None:
    program = recurrent_program()
    steps = [node for node in program.nodes if node.name == "tanh"]
    carried = [
        (reader, slot) for reader, slot in program.forward.uses[steps[0].id] if program.nodes[reader].name == "matmul"
    ]
    truncated = program.without(*carried).gradients()
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in recurrent_inputs().items()}
    h = torch.tanh(tensors["x"][0] @ tensors["w"] + tensors["h"] @ tensors["u"])
    states = [h]
    for step in tensors["x"][1:]:
        h = torch.tanh(step @ tensors["w"] + (h.detach() if len(states) == 1 else h) @ tensors["u"])
        states.append(h)
    (torch.stack(states) * torch.tensor(program.upstreams[0])).sum().backward()
    for name, tensor in tensors.items():
        np.testing.assert_allclose(truncated[name], tensor.grad.numpy(), atol=1e-12)
    last = node_of(program, "stack")
    again = program.with_edge(last.id, steps[0].id, lambda at: at.g[1])
    twice = again.gradients()["h"]
    direct = program.pullback(steps[0].id, program.upstreams[0][1])["h"]
    np.testing.assert_allclose(twice, program.gradients()["h"] + direct)


def test_rules_may_ask_for_other_gradients_but_not_for_their_own() -> None:
    program = recurrent_program(6)
    steps = [node for node in program.nodes if node.name == "tanh"]
    late = {
        step.id: [(r, s) for r, s in program.forward.uses[step.id] if program.nodes[r].name == "matmul"]
        for step in steps
    }
    early = program
    for step in steps:  # the state's gradient is used before what comes from the next iteration has been added
        lack = late[step.id]
        early = early.with_vjp(
            (step.id, 0), lambda at, lack=lack: at.right(at.g - sum(map(at.sweep.contribution, lack)))
        )
    truncated = program.without(*(edge for edges in late.values() for edge in edges)).gradients()
    for name in ("x", "w", "u"):
        np.testing.assert_allclose(early.gradients()[name], truncated[name], atol=1e-12)
    add = node_of(program, "add")
    own = program.with_vjp((add.id, 0), lambda at: at.sweep.gradient(at.node.operands[0][1]))
    with pytest.raises(NoCandidate, match="own contribution"):
        own.gradients()
    circle = program.with_vjp((add.id, 0), lambda at: at.sweep.contribution((at.node.id, at.slot)))
    with pytest.raises(NoCandidate):
        circle.gradients()


def test_no_recursion_over_the_iterations_of_a_long_loop() -> None:
    program = recurrent_program(600)
    states = [node for node in program.nodes if node.name == "tanh"]
    asks = program.with_vjp((states[-1].id, 0), lambda at: at.right(at.g + at.sweep.gradient(states[-1].id)))
    for name, gradient in program.with_upstream(states[-1].id, lambda at: 2 * at.g).gradients().items():
        np.testing.assert_allclose(asks.gradients()[name], gradient)
    early = program.with_vjp((states[-1].id, 0), lambda at: at.right(at.g + at.sweep.gradient(states[0].id)))
    with pytest.raises(NoCandidate, match="own contribution"):
        early.gradients()


def test_a_rule_cannot_write_to_what_programs_share() -> None:
    program = linear_program()
    (edge,) = program.forward.uses[program.inputs["w"]]

    def careless(at: EdgeContext) -> np.ndarray:
        g = at.g
        g *= 2
        return at.right(g)

    with pytest.raises(NoCandidate, match="read-only"):
        program.with_vjp(edge, careless).gradients()
    with pytest.raises(ValueError, match="read-only"):
        program.nodes[0].value[0] = 1


def test_a_contribution_of_another_shape_is_no_candidate() -> None:
    program = linear_program()
    (edge,) = program.forward.uses[program.inputs["b"]]
    with pytest.raises(NoCandidate, match="shape"):
        program.with_vjp(edge, lambda at: at.g).gradients()
    with pytest.raises(NoCandidate):
        program.with_vjp(edge, lambda at: at.g @ at.g).gradients()


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_edits_change_is_what_a_full_sweep_gives(name: str, data) -> None:
    program = PROGRAMS[name]
    tangents = draw_tangents(program, np.random.default_rng(2))
    edges, other = list(program.forward.sources), program
    rules = {
        "negated": lambda at: -at.right(),
        "doubled": lambda at: 2 * at.right(),
        "squared upstream": lambda at: at.right(at.g**2),
        "upstream times value": lambda at: at.right(at.g * at.y if at.y.ndim else at.g),
    }
    for _ in range(data.draw(st.integers(1, 3))):
        edge = data.draw(st.sampled_from(edges))
        change = data.draw(st.sampled_from([*rules, "dropped", "upstream", "added", "asks"]))
        source = program.forward.sources[edge]
        if change == "dropped":
            other = other.without(edge)
        elif change == "upstream" and edge[0] != SINK:
            other = other.with_upstream(edge[0], lambda at: at.g**2)
        elif change == "added":
            other = other.with_edge(
                edge[0], source, lambda at, source=source: np.ones(at.program.nodes[source].value.shape)
            )
        elif change == "asks":
            asked = data.draw(st.integers(0, len(program.nodes) - 1))
            other = other.with_vjp(edge, lambda at, asked=asked: at.right() * at.sweep.gradient(asked).sum())
        elif change in rules:
            other = other.with_vjp(edge, rules[change])
    try:
        expected = tangents.project(other.gradients()) - tangents.right
    except NoCandidate:
        with pytest.raises(NoCandidate):
            other.change(tangents)
        return
    np.testing.assert_allclose(other.change(tangents), expected, rtol=1e-6, atol=1e-5 * (1 + np.abs(expected).max()))


def test_projections_of_another_forward_pass() -> None:
    program = PROGRAMS["attention"]
    tangents = draw_tangents(program, np.random.default_rng(2), directions=3)
    softmax = node_of(program, "softmax")
    other = program.with_nodes({softmax.id: lambda node: node.with_options(dim=-2)})
    expected = tangents.project(other.gradients()) - tangents.right
    np.testing.assert_allclose(other.change(tangents), expected)
    assert tangents.rows["q"] == slice(3, 6)
    assert np.isnan(tangents.project({"q": program.gradients()["q"]})[:3]).all()


def test_another_operation_is_run_or_seen_in_part() -> None:
    inputs = draw(x=(3, 4), y=(3, 4))
    forward = lambda x, y: torch.tanh(x * y) * y  # noqa: E731
    program = record(forward, inputs, np.ones((3, 4)))
    tanh = node_of(program, "tanh")
    change = {tanh.id: lambda node: node.with_operation(OPERATIONS["sin"])}
    x, y = inputs["x"], inputs["y"]
    inner, derivative = np.sin(x * y), np.cos(x * y)
    np.testing.assert_allclose(program.with_nodes(change).gradients()["x"], y * y * derivative)
    np.testing.assert_allclose(program.with_nodes(change).gradients()["y"], inner + x * y * derivative)
    right = 1 - np.tanh(x * y) ** 2
    np.testing.assert_allclose(program.with_nodes(change, "values").gradients()["y"], inner + x * y * (1 - inner**2))
    np.testing.assert_allclose(
        program.with_nodes(change, "backward").gradients()["y"], np.tanh(x * y) + x * y * derivative
    )
    np.testing.assert_allclose(program.with_nodes(change, "partners").gradients()["y"], inner + x * y * right)
    np.testing.assert_allclose(program.with_nodes(change, "partners").gradients()["x"], y * y * right)


def test_the_vjp_of_another_node_is_projected_like_any_rule() -> None:
    program = PROGRAMS["lstm"]
    tangents = draw_tangents(program, np.random.default_rng(2))
    first, tanh = (node_of(program, name) for name in ("sigmoid", "tanh"))
    products = [node for node in program.nodes if node.name == "mul"]
    for change in (
        {first.id: lambda node: node.with_operation(OPERATIONS["tanh"])},
        {tanh.id: lambda node: node.without_operation(), first.id: lambda node: node.with_operation(OPERATIONS["sin"])},
        {products[0].id: lambda node: node.without_operation(1)},
        {products[-1].id: lambda node: node.with_operand(0, tanh.value, tanh.id)},
    ):
        other = program.with_nodes(change, "backward")
        assert other.forward is program.forward
        expected = tangents.project(other.gradients()) - tangents.right
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(other.change(tangents), expected, rtol=1e-6, atol=1e-6)


def test_partners_alone_see_another_value_while_the_operand_is_right() -> None:
    program = record(lambda x, w: (x @ w).exp(), draw(x=(3, 4), w=(4, 2)))
    other = program.with_input("x", 2 * program.nodes[0].value, "partners")
    np.testing.assert_allclose(other.gradients()["w"], 2 * program.gradients()["w"])
    np.testing.assert_allclose(other.gradients()["x"], program.gradients()["x"])


def test_an_operation_is_left_out_and_its_other_edge_vanishes() -> None:
    program = linear_program()
    add = node_of(program, "add")
    other = program.with_nodes({add.id: lambda node: node.without_operation(0)})
    assert not other.gradients()["b"].any()
    assert (add.id, 1) not in other.forward.sources
    with pytest.raises(NoCandidate):
        program.with_nodes({node_of(program, "matmul").id: lambda node: node.without_operation(1)}).gradients()


def test_another_input_and_another_result() -> None:
    program = linear_program()
    other = program.with_input("inp", np.ones((5, 4)))
    np.testing.assert_allclose(other.gradients()["w"], np.tile(program.upstreams[0].sum(0), (4, 1)))
    flat = program.with_result("w", lambda program, gradient: gradient.T)
    assert flat.gradients()["w"].shape == (3, 4)
    with pytest.raises(NoCandidate, match="shape"):
        flat.change(draw_tangents(program, np.random.default_rng(0)))


def test_jacobians_are_of_the_program_with_its_edits() -> None:
    inputs = draw(x=(3,), y=(3,))
    program = record(lambda x, y: x * y.sin(), inputs, np.zeros(3), upstream_name="")
    jacobian = program.jacobians()["y"]
    np.testing.assert_allclose(jacobian, np.diag(inputs["x"] * np.cos(inputs["y"])))
    sine = node_of(program, "sin")
    wrong = program.with_vjp((sine.id, 0), lambda at: -at.right())
    np.testing.assert_allclose(wrong.jacobians()["y"], -jacobian)
    np.testing.assert_allclose(wrong.jacobians_of(sine.id)["y"], np.diag(np.cos(inputs["y"])))


def test_several_outputs_and_named_values() -> None:
    def forward(x, w):
        hidden = x @ w
        return {"hidden": hidden, "out": hidden.tanh() * hidden}

    inputs = draw(x=(2, 3), w=(3, 4))
    program = record(forward, inputs, np.ones((2, 4)), targets=("hidden",))
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in inputs.items()}
    named = forward(**tensors)
    expected = torch.autograd.grad(named["out"].sum(), [named["hidden"], tensors["w"]])
    for name, gradient in zip(("hidden", "w"), expected, strict=True):
        np.testing.assert_allclose(program.gradients()[name], gradient.numpy())
    tangents = draw_tangents(program, np.random.default_rng(0))
    tanh = node_of(program, "tanh")
    other = program.with_vjp((tanh.id, 0), EdgeContext.right).without((node_of(program, "mul").id, 1))
    expected_change = tangents.project(other.gradients()) - tangents.right
    np.testing.assert_allclose(other.change(tangents), expected_change, atol=1e-6)
    two = record(lambda x, w: (x @ w, x.sum()), inputs, (np.ones((2, 4)), np.array(2.0)))
    np.testing.assert_allclose(two.gradients()["x"], np.tile(inputs["w"].sum(1) + 2, (2, 1)))


def test_the_tolerance_of_a_trial_shows_cancellation() -> None:
    inputs = draw(x=(4, 3))
    mild, cancelling = (
        record(lambda x, by=by: ((x + by) - by).exp().sum(), inputs, np.array(1.0)) for by in (1.0, 1e6)
    )
    small = tolerances(mild, np.random.default_rng(0))["x"]
    assert 1e-8 < small < 1e-5
    assert tolerances(cancelling, np.random.default_rng(0))["x"] > 0.05


def test_a_loop_can_be_gone_back_through_from_the_first_iteration_to_the_last() -> None:
    def chain(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        for row in range(len(b)):
            x = (x @ w + b[row]).tanh()
        return x

    inputs = draw(0, x=(2, 3), w=(3, 3), b=(4, 3))
    program = record(chain, inputs, np.ones((2, 3)))
    assert [program.nodes[i].name for i in program.nodes_of("tanh")] == ["tanh"] * 4
    assert program.nodes_of("relu") == ()
    states = [inputs["x"], *(program.nodes[i].value for i in program.nodes_of("tanh"))]
    g, w_g, b_g = np.ones((2, 3)), 0.0, np.zeros((4, 3))
    for i in range(4):
        sums_g = g * (1 - states[i + 1] ** 2)
        w_g = w_g + states[i].T @ sums_g
        b_g[i], g = sums_g.sum(0), sums_g @ inputs["w"].T
    wrong = program.with_iterations(range(4)[::-1]).gradients()
    for name, array in (("x", g), ("w", w_g), ("b", b_g)):
        np.testing.assert_allclose(wrong[name], array)
        np.testing.assert_array_equal(program.with_iterations(range(4)).gradients()[name], program.gradients()[name])


def test_rounding_leaves_what_the_forward_pass_looked_at_as_it_was() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        scale = float(x.detach().abs().max())  # by which the course might change
        return (x / scale).tanh() if scale > 0 else x

    program = record(forward, {"x": draw(0, x=(3, 4))["x"]}, np.ones((3, 4)))
    tolerance = tolerances(program, np.random.default_rng(0))["x"]
    assert 0 < tolerance < 1e-4

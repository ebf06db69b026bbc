"""A recorded forward pass: its edges, its names, and what cannot be recorded."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
from helpers.forwards import (
    draw,
    linear,
    lstm,
    lstm_inputs,
    recurrence,
    recurrence_in_a_buffer,
    recurrence_read_from_its_buffer,
    recurrent_inputs,
)
from test_operations import prove

from grader.program.operation import NoCandidate
from grader.program.recording import Unrecordable, record, shorten


def test_a_node_has_its_expression_line_and_variable() -> None:
    program = record(linear, draw(inp=(2, 3), w=(3, 4), b=(4,)))
    product, total = program.nodes[3:]
    assert (product.text, product.variable, product.name, product.operands) == (
        "inp @ w",
        "hidden",
        "matmul",
        ((0, 0), (1, 1)),
    )
    assert (total.text, total.variable) == ("hidden + b", "")
    assert total.line == product.line + 1 == inspect.getsourcelines(linear)[1] + 2
    assert [program.name_of(node.id) for node in program.nodes] == ["inp", "w", "b", "hidden", "out"]


def test_the_iterations_of_a_loop_have_one_key() -> None:
    program = record(recurrence, recurrent_inputs(4))
    (states,) = (ids for key, ids in program.forward.by_key.items() if "tanh" in key)
    assert [program.nodes[i].iteration for i in states] == [0, 1, 2, 3]
    other = record(recurrence, recurrent_inputs(3, 5, 2, 6))
    assert set(other.forward.by_key) == set(program.forward.by_key)


def test_two_functions_on_one_line_have_two_keys() -> None:
    first, second = (lambda x: x + 1), (lambda x: x + 1)
    program = record(lambda x: second(first(x)), draw(x=(2,)))
    assert [len(ids) for ids in program.forward.by_key.values()] == [1, 1, 1]


@pytest.mark.parametrize("forward", [recurrence_in_a_buffer, recurrence_read_from_its_buffer])
def test_a_buffer_has_the_edges_of_a_list(forward) -> None:
    collected, written = (record(f, recurrent_inputs(), np.ones((3, 2, 3))) for f in (recurrence, forward))
    for program in (collected, written):
        states = [node for node in program.nodes if node.name == "tanh"]
        readers = [[program.nodes[reader].name for reader, _ in program.forward.uses[state.id]] for state in states]
        join = "stack" if program is collected else "write"
        assert readers == [[join, "matmul"], [join, "matmul"], [join]]
    for name, gradient in collected.gradients().items():
        np.testing.assert_allclose(written.gradients()[name], gradient)


def in_place(x, y):
    x = x * 1
    x += y
    x.mul_(2).sub_(y)
    x[0] = x[1] * y[0]
    x[:, 1:].tanh_()
    x[1, 1] += y[1, 1]
    view = x[1]
    view *= 3
    return x.exp()


def overlapping_writes(x, y):
    buffer = torch.zeros(4, 3, dtype=x.dtype)
    buffer[:2] = x[:2]
    buffer[1:3] = y[:2] * x[:2]
    buffer[:, 0] = 1.5
    rows = buffer.unbind(0)
    buffer[3, 1:] = y[2, 1:]
    return buffer * buffer + rows[1] + buffer[2:, 1].sum()


def cleared_and_filled(x, y):
    total = x.clone()
    total.zero_()
    for row in range(len(x)):
        total[row].add_(x[row]).add_(y[row], alpha=2)
    total[total > 1] = 0.5
    return total.copy_(total * y) + total


def masked_and_scattered(x, y):
    x = x.clone().masked_fill_(x > 0.5, 2.0)
    x.index_add_(0, torch.tensor([0, 0]), y[:2])
    x.relu_()
    torch.nn.functional.relu(x, inplace=True)
    flat = x.view(-1)
    flat[2:4] = flat[4:6] * 2
    return x * y


@pytest.mark.parametrize("forward", [in_place, overlapping_writes, cleared_and_filled, masked_and_scattered])
def test_writes_in_place_have_the_gradients_of_finite_differences(forward) -> None:
    """Torch's autograd refuses some of these passes, because values that it needs are written over."""
    inputs = draw(x=(3, 3), y=(3, 3))
    program = record(forward, inputs)
    gradients = program.gradients()

    def total(name: str, entry: int, by: float) -> float:
        moved = {key: torch.tensor(value) for key, value in inputs.items()}
        moved[name].view(-1)[entry] += by
        return float(forward(**moved).sum())

    for name, gradient in gradients.items():
        slopes = [(total(name, i, 1e-6) - total(name, i, -1e-6)) / 2e-6 for i in range(gradient.size)]
        np.testing.assert_allclose(gradient.ravel(), slopes, rtol=1e-6, atol=1e-6)
    again = program.with_input("y", inputs["y"] * 1.001).nodes[program.forward.outputs[0]].value
    expected = forward(torch.tensor(inputs["x"]), torch.tensor(inputs["y"] * 1.001))
    np.testing.assert_allclose(again, expected.numpy(), atol=1e-12)


class Twice(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(3, 3, dtype=torch.float64)

    def forward(self, x):
        return self.inner(self.inner(x).relu())


def test_modules_and_helpers_have_the_text_of_the_authors_call() -> None:
    model = Twice()
    program = record(lambda x: model(x) * 1.0, draw(x=(2, 3)))
    linears = [node for node in program.nodes if node.name == "linear"]
    assert [node.text for node in linears] == ["self.inner(self.inner(x).relu())", "self.inner(x)"][::-1]
    assert linears[0].key != linears[1].key


SPELLINGS = {
    "chunks": (lstm, lstm_inputs()), "lists of arrays": (lambda ws, x: x @ ws[0] @ ws[1], None),
    "a detached part": (lambda x, y: x.detach() * y + y.data, draw(x=(2, 3), y=(2, 3))),
    "new axes": (lambda x, y: (x[:, None] * y[None]).sum(-1), draw(x=(2, 3), y=(4, 3))),
    "in a comprehension": (lambda x, y: torch.stack([row @ y.T for row in x]), draw(x=(2, 3), y=(4, 3))),
    "the same value twice": (lambda x, y: x * x + y * y * y, draw(x=(2, 3), y=(2, 3))),
    "keyword operands": (lambda x, y: torch.add(x, other=y).matmul(other=y.T), draw(x=(2, 3), y=(2, 3))),
}  # fmt: skip


def test_lists_of_inputs_have_names_of_their_own() -> None:
    weights = list(draw(a=(3, 4), b=(4, 2)).values())
    program = record(lambda ws, x: x @ ws[0] @ ws[1], {"ws": weights, "x": np.ones((2, 3))})
    assert list(program.gradients()) == ["ws[0]", "ws[1]", "x"]
    np.testing.assert_allclose(program.gradients()["ws[0]"], np.ones((3, 2)) @ np.ones((2, 2)) @ weights[1].T)


@pytest.mark.parametrize("name", [name for name, (_, inputs) in SPELLINGS.items() if inputs])
def test_spellings(name: str) -> None:
    forward, inputs = SPELLINGS[name]
    if name == "a detached part":
        program = record(forward, inputs)
        np.testing.assert_allclose(program.gradients()["y"], inputs["x"])
        assert not program.gradients()["x"].any()
    else:
        prove(forward, inputs)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return g


@pytest.mark.parametrize(
    ("forward", "options"),
    [
        (lambda x, w: torch.conv1d(x, w, None, 2, 1, 3), {"stride": (2,), "padding": (1,), "dilation": (3,)}),
        (
            lambda x, w: torch.conv1d(x, w, stride=2, padding=1, dilation=3),
            {"stride": (2,), "padding": (1,), "dilation": (3,)},
        ),
        (lambda x, w: x.cumsum(1), {"dim": 1}),
        (lambda x, w: x.cumprod(1), {"dim": 1}),
        (lambda x, w: torch.cumprod(x, dim=1), {"dim": 1}),
        (lambda x, w: x.logcumsumexp(-1), {"dim": -1}),
        (lambda x, w: x.diagonal(1, 0, 2), {"offset": 1, "dim1": 0, "dim2": 2}),
    ],
)
def test_an_option_has_its_name_also_where_it_is_given_by_position(forward, options: dict[str, object]) -> None:
    node = record(forward, draw(x=(2, 3, 9), w=(4, 3, 2))).nodes[-1]
    assert {name: node.options[name] for name in options} == options
    assert not any(name.startswith("argument") for name in node.options)


def test_results_beside_nothing_are_recorded() -> None:
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True, dtype=torch.float64)
    prove(model, {"src": draw(x=(2, 3, 4))["x"]}, handwritten=False)


def outside(x, y):
    z = x * y
    return z.sum() + torch.from_numpy(z.numpy()).sum()


def write_complex(x, y):
    z = torch.fft.fft(x * y)
    z[0] = 0
    return z.real


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        (outside, "takes a value out of torch"),
        (lambda x, y: torch.nn.functional.dropout(x * y), "is random"),
        (lambda x, y: torch.add(x, y, out=torch.empty(2, 3, dtype=torch.float64)), "into another tensor"),
        (lambda x, y: Doubled.apply(x * y), "has a backward pass of its own"),
        (lambda x, y: torch.vmap(lambda row: row.sin())(x * y), "is transformed"),
        (write_complex, "writes complex numbers in place"),
        (lambda x, y: x > y, "returns no floating-point tensor"),
    ],
)
def test_what_cannot_be_recorded_is_said_with_its_line(forward, reason: str) -> None:
    with pytest.raises(Unrecordable, match=reason) as caught:
        record(forward, draw(x=(2, 3), y=(2, 3)))
    first = inspect.getsourcelines(forward)[1]
    if "returns" not in reason and "of its own" not in reason:
        assert caught.value.text
        assert first <= caught.value.line <= first + 2


def test_a_value_that_decides_the_course_is_not_changed_without_notice() -> None:
    def forward(x):
        return x * 2 if x.sum() > 0 else x * 3

    program = record(forward, {"x": np.ones(3)})
    np.testing.assert_array_equal(program.gradients()["x"], np.full(3, 2.0))
    program.with_input("x", np.full(3, 2.0))
    with pytest.raises(NoCandidate, match="decides"):
        program.with_input("x", -np.ones(3))


def test_what_the_forward_pass_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        record(lambda x: x * (1 / 0), {"x": np.ones(3)})
    with pytest.raises(ValueError, match="upstream gradient has the shape"):
        record(lambda x: x * 2, {"x": np.ones(3)}, np.ones(2))


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("x @ wx + h @ wh + b", "x @ wx + h @ wh + b"),
        ("centred / ((centred**2).mean(-1, keepdim=True) + 1e-5).sqrt()", "centred / (... + 1e-5).sqrt()"),
        ("torch.nn.functional.conv2d(inp, w, b, stride, padding)", "conv2d(inp, w, b, stride, padding)"),
        ("torch.cat((first * cos - second * sin, first * sin + second * cos), -1)", "torch.cat(..., -1)"),
        (
            "(gamma * (inp - mean) / std + beta @ weights_of_it).sum(dim=(1, 2), keepdim=True)",
            "(...).sum(dim=(1, 2), keepdim=True)",
        ),
        ("for row in a_function_with_a_long_name(of_several, arguments)", "for row in a_function_with_a_long_name(…"),
        ("a_name_that_is_longer_than_a_line_of_a_message", "a_name_that_is_longer_than_a_line_of_a_message"),
    ],
)
def test_a_long_expression_is_shortened_in_its_parts(text: str, short: str) -> None:
    assert shorten(text) == short


def test_complex_values_are_recorded_as_pairs() -> None:
    def forward(x, y):
        turned = torch.fft.rfft(x) * torch.exp(1j * y)
        return torch.fft.irfft(2 * turned, n=6) + turned.abs().sum()

    prove(forward, draw(x=(2, 6), y=(4,)), handwritten=False)
    program = record(forward, draw(x=(2, 6), y=(4,)))
    assert [node.value.shape for node in program.nodes if node.name == "fft_rfft"] == [(2, 4, 2)]
    assert next(node for node in program.nodes if node.name == "fft_irfft").operation.complex_slots == {0}


def test_a_complex_input_is_refused() -> None:
    with pytest.raises(Unrecordable, match="x is complex"):
        record(lambda x: x.abs(), {"x": torch.ones(2, dtype=torch.complex128)})

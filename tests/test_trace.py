"""The reverse sweep over a recorded forward pass is torch's own gradient, whatever the forward pass is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.reference.operation_recorder import record
from grader.reference.operations import along
from grader.reference.trace import Trace

Forward = Callable[..., torch.Tensor]
N, M, K = 2, 3, 4

UNARY: dict[str, Forward] = {
    "sin": lambda a: a.sin(),
    "tanh": lambda a: a.tanh(),
    "square": lambda a: a**2,
    "cube": lambda a: a.pow(3),
    "negative": lambda a: -a,
    "triple": lambda a: 3 * a,
    "shift": lambda a: a + 2,
    "from one": lambda a: 1 - a,
    "soft quotient": lambda a: 1 / (a**2 + 1),
    "exp": lambda a: a.tanh().exp(),
    "log": lambda a: (a**2 + 1).log(),
    "clamp": lambda a: a.clamp_min(0),
    "mean": lambda a: a.mean(),
    "sum": lambda a: a.sum(),
    "sum of rows": lambda a: a.sum(0) if a.dim() else a,
    "mean of columns": lambda a: a.mean(-1, keepdim=True) if a.dim() else a,
    "transpose": lambda a: a.mT if a.dim() > 1 else a * 1,
    "new axis": lambda a: a.unsqueeze(-1) if a.dim() < 3 else a * 1,
    "flatten": lambda a: a.reshape(-1),
    "first": lambda a: a[0] if a.dim() else a * 1,
}
BINARY: dict[str, Forward] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / (b**2 + 1),
    "matmul": lambda a, b: a @ b,
    "stack": lambda a, b: torch.stack([a, b]),
    "cat": lambda a, b: torch.cat((a, b)),
}
Program = list[tuple[str, int, int]]

programs: st.SearchStrategy[Program] = st.lists(
    st.tuples(st.sampled_from([*UNARY, *BINARY, *BINARY]), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7
)


def forward_of(program: Program) -> Forward:
    """The forward pass of x (2, 3), w (3, 4) and b (4,) that a program describes; impossible steps are left out."""

    def forward(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        pool = [x, w, b]
        for name, i, j in program:
            chosen = pool[-1 - i % len(pool)], pool[-1 - j % len(pool)]
            try:
                value = UNARY[name](chosen[0]) if name in UNARY else BINARY[name](*chosen)
            except (RuntimeError, IndexError):
                continue
            if 0 < value.numel() <= 60:
                pool.append(value)
        return (pool[-1] if len(pool) > 3 else x @ w + b) * 1

    return forward


def inputs_of(seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = {"x": (N, M), "w": (M, K), "b": (K,)}
    return {name: torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}


def autograd(forward: Forward, inputs: dict[str, torch.Tensor], wrt: str, out_g: torch.Tensor) -> torch.Tensor:
    leaf = inputs[wrt].clone().requires_grad_()
    out = forward(**{**inputs, wrt: leaf})
    if not out.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad((out * out_g).sum(), leaf, allow_unused=True, materialize_grads=True)[0]


def traced(forward: Forward, inputs: dict[str, torch.Tensor], seed: int = 0) -> Trace:
    shape = forward(**inputs).shape
    out_g = torch.randn(shape, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    return record(forward, inputs, out_g)


@settings(max_examples=150, deadline=None)
@given(programs, st.integers(0, 2**31))
def test_the_sweep_is_torchs_gradient_for_every_input(program: Program, seed: int) -> None:
    forward, inputs = forward_of(program), inputs_of(seed)
    trace = traced(forward, inputs, seed)
    for name in inputs:
        expected = autograd(forward, inputs, name, trace.out_g)
        torch.testing.assert_close(trace.backward(name), expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(programs, st.integers(0, 2**31))
def test_the_sweep_is_linear_in_the_upstream_gradient(program: Program, seed: int) -> None:
    inputs = inputs_of(seed)
    forward = forward_of(program)
    trace = traced(forward, inputs, seed)
    doubled = record(forward, inputs, 2 * trace.out_g)
    for name in inputs:
        torch.testing.assert_close(doubled.backward(name), 2 * trace.backward(name), rtol=1e-9, atol=1e-9)


SPELLINGS: dict[str, Forward] = {
    "operators": lambda x, w, b: (x @ w + b) ** 2,
    "methods": lambda x, w, b: x.matmul(w).add(b).pow(2),
    "functions": lambda x, w, b: torch.pow(torch.add(torch.matmul(x, w), b), 2),
    "keyword operands": lambda x, w, b: torch.add(torch.matmul(x, other=w), other=b).pow(2),
    "einsum": lambda x, w, b: (torch.einsum("ij,jk->ik", x, w) + b) ** 2,
    "einsum of a list": lambda x, w, b: (torch.einsum("ij,jk->ik", [x, w]) + b) ** 2,
    "linear": lambda x, w, b: torch.nn.functional.linear(x, w.t(), b).square(),
    "addmm": lambda x, w, b: torch.addmm(b, x, w).square(),
    "T": lambda x, w, b: (w.T @ x.T).T.add(b).square(),
    "unbound rows": lambda x, w, b: torch.stack([row @ w + b for row in x.unbind(0)]).square(),
    "iterated rows": lambda x, w, b: torch.stack([row @ w + b for row in x]).square(),
    "split": lambda x, w, b: torch.cat([part @ w + b for part in x.split(1)]).square(),
    "chunks of the weights": lambda x, w, b: (torch.cat([x @ part for part in w.chunk(2, dim=1)], 1) + b).square(),
    "in place": lambda x, w, b: (x @ w).add_(b).square_(),
    "augmented assignment": lambda x, w, b: _augmented(x, w, b),
    "item assignment": lambda x, w, b: _by_row(x, w, b),
    "out of a method with a mask": lambda x, w, b: (x @ w + b).masked_fill((x @ w + b) < 0, 0.0).square(),
    "where": lambda x, w, b: torch.where(x @ w > 0, x @ w + b, (x @ w).exp()),
    "max and its index": lambda x, w, b: (x @ w + b).max(dim=1).values.square(),
    "softmax": lambda x, w, b: torch.log_softmax(x @ w + b, dim=-1),
    "the same tensor twice": lambda x, w, b: (x @ w + b) * (x @ w + b),
    "a value used three times": lambda x, w, b: _thrice(x @ w + b),
    "an intermediate that is not needed": lambda x, w, b: (x.exp(), x @ w + b)[1].square(),
    "a detached part": lambda x, w, b: (x @ w).detach() * (x @ w + b),
}


def _augmented(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    hidden = x @ w
    hidden += b
    hidden *= hidden.detach().clone() * 0 + 2
    return hidden


def _by_row(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = torch.zeros(len(x), w.shape[1], dtype=x.dtype)
    for i in range(len(x)):
        out[i] = x[i] @ w + b
    return out * 1


def _thrice(a: torch.Tensor) -> torch.Tensor:
    return a * a.sin() + a


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_sweep_is_right_however_the_forward_pass_is_written(spelling: str) -> None:
    """Operators, methods, functions, several outputs, work in place: all of it is followed."""
    forward, inputs = SPELLINGS[spelling], inputs_of(3)
    trace = traced(forward, inputs)
    for name in inputs:
        expected = autograd(forward, inputs, name, trace.out_g)
        torch.testing.assert_close(trace.backward(name), expected, rtol=1e-9, atol=1e-9)


def test_recording_leaves_the_inputs_as_they_were() -> None:
    inputs = inputs_of(1)
    copies = {name: value.clone() for name, value in inputs.items()}
    traced(SPELLINGS["operators"], inputs)
    assert all(torch.equal(inputs[name], copies[name]) and not inputs[name].requires_grad for name in inputs)


def test_an_input_that_is_not_used_has_a_gradient_of_zeros() -> None:
    inputs = inputs_of(1)
    trace = traced(lambda x, w, b: x * 2, inputs)
    assert torch.equal(trace.backward("w"), torch.zeros_like(inputs["w"]))


def test_steps_are_labelled_as_a_learner_writes_them() -> None:
    trace = traced(lambda x, w, b: (3 * (x @ w + b) ** 2).mean() / 7, inputs_of(1))
    assert [step.label for step in trace.steps] == ["@", "+", "pow", "*", "mean", "/"]


def test_uses_and_dependants_are_known() -> None:
    trace = traced(lambda x, w, b: (x * x) @ w, inputs_of(1))
    assert trace.uses("x") == [(0, (0,)), (0, (1,))]
    assert trace.depends("x") == {"x", "%0", "%1"}
    assert trace.depends("w") == {"w", "%1"}
    assert trace.depends("b") == {"b"}


def test_a_skipped_use_contributes_nothing() -> None:
    inputs = inputs_of(1)
    trace = traced(lambda x, w, b: x * x + x, inputs)
    torch.testing.assert_close(trace.backward("x", skip=frozenset({(0, (0,)), (0, (1,))})), trace.out_g)


def test_a_wrong_rule_is_followed_in_its_place() -> None:
    """The rule for an operand replaces its contribution; the rule for the step, its upstream gradient."""
    inputs = inputs_of(1)
    trace = traced(lambda x, w, b: 3 * x.sin(), inputs)
    dropped = {(0, (0,)): lambda trace, step, g: g}
    torch.testing.assert_close(trace.backward("x", dropped), 3 * trace.out_g)
    ones = {(1, None): lambda trace, step, g: torch.ones_like(g)}
    torch.testing.assert_close(trace.backward("x", ones), 3 * inputs["x"].cos())


@settings(max_examples=40, deadline=None)
@given(programs, st.integers(0, 2**31))
def test_a_wrong_rule_gives_the_same_however_often_it_is_asked(program: Program, seed: int) -> None:
    """What is asked often goes through Jacobians; another rule, or a use that is left out, in each place."""
    inputs = inputs_of(seed)
    trace = traced(forward_of(program), inputs, seed)
    for step in trace.steps:
        for where, _ in step.operands:
            wrong = {(step.index, where): lambda _, step, g, where=where: step.vjp(where, g) * 2 + 1}
            for change in ({"rules": wrong}, {"skip": frozenset({(step.index, where)})}):
                first = trace.backward("x", **change)
                most = max(value.numel() for value in trace.values().values())
                often = [trace.backward("x", **change) for _ in range(most + 2)]
                torch.testing.assert_close(often[-1], first, rtol=1e-9, atol=1e-9)


def test_a_step_may_be_taken_otherwise_and_all_that_follows_with_it() -> None:
    """The forward pass again with one step changed; the sweep over it is that pass's own gradient."""
    x, g = torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    trace = record(lambda x: (x - x.mean(1, keepdim=True)) ** 2, {"x": x}, g)
    changed = trace.with_steps({0: lambda step: along(step, (0, 1))})
    assert torch.equal(changed.steps[-1].value, (x - x.mean()) ** 2)
    assert torch.equal(trace.steps[-1].value, (x - x.mean(1, keepdim=True)) ** 2)
    leaf = x.clone().requires_grad_()
    ((leaf - leaf.mean()) ** 2 * g).sum().backward()
    torch.testing.assert_close(changed.backward("x"), leaf.grad)


def test_the_turns_of_a_loop_are_steps_of_one_line() -> None:
    """However many there are; what stands in another line, or before the loop, is another one."""

    def forward(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        hidden = x @ w
        for _ in range(3):
            hidden = hidden.tanh() + b
        return hidden

    trace = traced(forward, inputs_of(1))
    names = {
        trace.steps[turns[0]].name: turns for line, turns in trace.turns.items() if line == trace.steps[turns[0]].line
    }
    assert names == {"matmul": [0], "tanh": [1, 3, 5], "add": [2, 4, 6]}


def test_what_a_value_was_made_from_is_known() -> None:
    trace = traced(lambda x, w, b: (x @ w + b).tanh(), inputs_of(1))
    assert trace.reaches("%0") == {"%0", "x", "w"}
    assert trace.reaches("%2") == {"%2", "%1", "%0", "x", "w", "b"}

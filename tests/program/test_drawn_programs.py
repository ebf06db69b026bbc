"""Whatever a forward pass does, its program has torch's gradients, and runs again as torch would run it."""

from __future__ import annotations

import numpy as np
import torch
from helpers.forwards import draw
from hypothesis import given, settings
from hypothesis import strategies as st
from test_operations import BINARY, UNARY, WHOLE

from grader.program.probes import draw_tangents
from grader.program.recording import record

SMOOTH = [
    "neg",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "erf",
    "silu",
    "softplus",
    "gelu",
    "squared",
    "one less it",
    "times two",
]
SHAPED = ["sum", "mean", "reshape", "flatten", "first", "new axis", "every other", "T", "rows twice", "permute", "norm"]
TWICE = ["add", "sub", "mul", "maximum", "where"]
UNITS = {**{name: UNARY[name] for name in SMOOTH}, **{name: WHOLE[name] for name in SHAPED}}
PAIRS = {**{name: BINARY[name] for name in TWICE}, "matmul": torch.matmul, "cat": lambda x, y: torch.cat((x, y))}
Steps = list[tuple[str, int, int, bool]]

steps = st.lists(
    st.tuples(st.sampled_from([*UNITS, *PAIRS, *PAIRS]), st.integers(0, 9), st.integers(0, 9), st.booleans()),
    min_size=1, max_size=9,
)  # fmt: skip


def forward_of(drawn: Steps):
    """The forward pass that some steps describe; impossible steps are left out, and some are written in place."""

    def forward(x, w, b):
        pool = [x, w, b]
        for name, i, j, in_place in drawn:
            first, second = pool[-1 - i % len(pool)], pool[-1 - j % len(pool)]
            try:
                value = UNITS[name](first) if name in UNITS else PAIRS[name](first, second)
            except (RuntimeError, IndexError, ValueError, TypeError):
                continue
            if in_place and value.dim():
                buffer = torch.zeros_like(value)
                buffer[:1] = value[:1]
                buffer[1:] = value[1:] * 2
                value = buffer
            if 0 < value.numel() <= 60:
                pool.append(value)
        return pool[-1] * 1 if len(pool) > 3 else x @ w + b

    return forward


@settings(max_examples=150, deadline=None)
@given(steps, st.integers(0, 999))
def test_gradients_are_torchs_and_another_run_is_another_forward_pass(drawn: Steps, seed: int) -> None:
    forward, inputs = forward_of(drawn), draw(seed, x=(2, 3), w=(3, 4), b=(4,))
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in inputs.items()}
    out = forward(**tensors)
    upstream = np.random.default_rng(seed).standard_normal(out.shape)
    program = record(forward, inputs, upstream)
    if out.requires_grad:
        weighed = (out * torch.tensor(upstream)).sum()
        expected = torch.autograd.grad(weighed, list(tensors.values()), allow_unused=True, materialize_grads=True)
        for (name, gradient), right in zip(program.gradients().items(), expected, strict=True):
            np.testing.assert_allclose(gradient, right.numpy(), rtol=1e-8, atol=1e-8, err_msg=name)
    again = program.with_input("x", inputs["x"] + 0.25)
    moved = forward(**{name: torch.tensor(value + 0.25 * (name == "x")) for name, value in inputs.items()})
    np.testing.assert_allclose(again.nodes[program.forward.outputs[0]].value, moved.numpy(), rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(steps, st.integers(0, 999), st.data())
def test_an_edit_changes_projections_by_its_product_with_the_tangents(drawn: Steps, seed: int, data) -> None:
    drawn = [step for step in drawn if step[0] not in ("maximum", "where", "norm")]  # finite differences meet no kinks
    program = record(forward_of(drawn), draw(seed, x=(2, 3), w=(3, 4), b=(4,)))
    tangents = draw_tangents(program, np.random.default_rng(seed))
    edges = list(program.forward.sources)
    other = program.with_vjp(data.draw(st.sampled_from(edges)), lambda at: -at.right())
    other = other.with_vjp(data.draw(st.sampled_from(edges)), lambda at: at.right() ** 2)
    expected = tangents.project(other.gradients()) - tangents.right
    np.testing.assert_allclose(other.change(tangents), expected, rtol=1e-5, atol=1e-5 * (1 + np.abs(expected).max()))

"""How long a sweep and a candidate of `grader.program` take: `python benchmarks/sweeping.py [--rounds N]`.

Each time is the least of several rounds, in microseconds, and as a multiple of torch's own backward pass of the same
function in the same run. A candidate is one edit: its full sweep, what it changes of the projections of all gradients,
and another forward pass with its sweep.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping

import numpy as np
import torch

from grader.program.probes import draw_tangents
from grader.program.program import EdgeContext, Program
from grader.program.recording import record

Forward = Callable[..., torch.Tensor]


def linear(inp, w, b):
    """Return a linear layer's output."""
    return inp @ w + b


def lstm_step(x, w, u, b, h, c):
    """Return the hidden state after one step of an LSTM."""
    i, f, o, g = (x @ w + h @ u + b).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh()


def recurrence(x, w, u, h):
    """Return the hidden states of an RNN in eight steps."""
    states = []
    for t in range(8):
        h = torch.tanh(x[t] @ w + h @ u)
        states.append(h)
    return torch.stack(states)


def attention(q, k, v):
    """Return the output of scaled dot-product attention."""
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


CASES: Mapping[str, tuple[Forward, Mapping[str, tuple[int, ...]]]] = {
    "lin_grad": (linear, {"inp": (5, 4), "w": (4, 6), "b": (6,)}),
    "LSTM step": (lstm_step, {"x": (5, 4), "w": (4, 24), "u": (6, 24), "b": (24,), "h": (5, 6), "c": (5, 6)}),
    "RNN, 8 iterations": (recurrence, {"x": (8, 5, 4), "w": (4, 6), "u": (6, 6), "h": (5, 6)}),
    "attention (2, 8, 64, 32)": (attention, dict.fromkeys("qkv", (2, 8, 64, 32))),
}


def least(call: Callable[[], object], rounds: int) -> float:
    """Return the least time of a call in several rounds, in microseconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def measure(forward: Forward, shapes: Mapping[str, tuple[int, ...]], rounds: int) -> dict[str, float]:
    """Return the times of one case, in microseconds, by name."""
    generator = np.random.default_rng(0)
    inputs = {name: generator.standard_normal(shape) for name, shape in shapes.items()}
    leaves = {name: torch.tensor(value, requires_grad=True) for name, value in inputs.items()}
    out = forward(**leaves)
    upstream = generator.standard_normal(out.shape)
    program, g = record(forward, inputs, upstream), torch.tensor(upstream)
    tangents = draw_tangents(program, generator)
    program.with_vjp((program.forward.outputs[0], 0), EdgeContext.right).change(
        tangents
    )  # the right sweep is kept from now on
    states = [node.id for node in program.nodes if node.name in ("matmul", "softmax", "tanh")]

    def scaled() -> object:
        return program.with_nodes({states[0]: lambda node: node.then(lambda value: 2 * value)}).gradients()

    return {
        "autograd": least(lambda: torch.autograd.grad(out, list(leaves.values()), g, retain_graph=True), rounds),
        "recording": least(lambda: record(forward, inputs, upstream), rounds // 4 + 1),
        "tangents": least(lambda: draw_tangents(program, generator), rounds // 8 + 1),
        "sweep": least(program.gradients, rounds),
        "full sweep": mean_of_edges(program, Program.gradients, rounds),
        "projected": mean_of_edges(program, lambda p: p.change(tangents), rounds),
        "other forward": least(scaled, rounds),
    }


def mean_of_edges(program: Program, use: Callable[[Program], object], rounds: int) -> float:
    """Return the mean over all edges of the least time of a candidate, in microseconds."""
    edges = [edge for edge in program.forward.sources if edge[0] >= 0]
    times = [least(lambda e=edge: use(program.with_vjp(e, lambda at: -at.right())), rounds // 4 + 1) for edge in edges]
    return float(np.mean(times))


def main() -> None:
    """Print the times of all cases as a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    for name, (forward, shapes) in CASES.items():
        times = measure(forward, shapes, rounds)
        own = times["autograd"]
        print(f"{name}: " + ", ".join(f"{what} {t:,.0f} ({t / own:.2f})" for what, t in times.items()))


if __name__ == "__main__":
    main()

"""Forward passes that the tests of `grader.program` share, each with inputs for some sizes."""

from __future__ import annotations

import numpy as np
import torch


def draw(seed: int = 0, **shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Draw normal numbers of the given shapes, by name."""
    generator = np.random.default_rng(seed)
    return {name: generator.standard_normal(shape) for name, shape in shapes.items()}


def linear(inp, w, b):
    hidden = inp @ w
    return hidden + b


def recurrence(x, w, u, h):
    states = []
    for step in x:
        h = torch.tanh(step @ w + h @ u)
        states.append(h)
    return torch.stack(states)


def recurrence_in_a_buffer(x, w, u, h):
    states = torch.zeros(len(x), *h.shape, dtype=h.dtype)
    for t in range(len(x)):
        h = torch.tanh(x[t] @ w + h @ u)
        states[t] = h
    return states


def recurrence_read_from_its_buffer(x, w, u, h):
    states = torch.zeros(len(x) + 1, *h.shape, dtype=h.dtype)
    states[0] = h
    for t in range(len(x)):
        states[t + 1] = torch.tanh(x[t] @ w + states[t] @ u)
    return states[1:]


def first_iteration_apart(x, w, u, h):
    h = torch.tanh(x[0] @ w + h @ u)
    states = [h]
    for step in x[1:]:
        h = torch.tanh(step @ w + h @ u)
        states.append(h)
    return torch.stack(states)


def lstm(x, w, u, h, c):
    for step in x:
        i, f, o, g = (step @ w + h @ u).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return h


def attention(x, q, k, v):
    scores = (x @ q) @ (x @ k).mT / q.shape[-1] ** 0.5
    return x + scores.softmax(-1) @ (x @ v)


def recurrent_inputs(
    iterations: int = 3, batch: int = 2, n: int = 4, m: int = 3, seed: int = 0
) -> dict[str, np.ndarray]:
    return draw(seed, x=(iterations, batch, n), w=(n, m), u=(m, m), h=(batch, m))


def lstm_inputs(iterations: int = 3, batch: int = 2, n: int = 3, m: int = 2, seed: int = 0) -> dict[str, np.ndarray]:
    return draw(seed, x=(iterations, batch, n), w=(n, 4 * m), u=(m, 4 * m), h=(batch, m), c=(batch, m))


def attention_inputs(batch: int = 2, t: int = 3, n: int = 4, seed: int = 0) -> dict[str, np.ndarray]:
    return draw(seed, x=(batch, t, n), q=(n, 5), k=(n, 5), v=(n, n))

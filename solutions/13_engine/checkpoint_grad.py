"""Gradient checkpointing in a long chain. The lesson is README.md in this folder."""

import torch


def checkpoint_grad(x, w, b, out, every):
    """Store the gradient of the loss in `x.g`, `w.g` and `b.g`, without keeping all states in memory at once.

    Forward: `h = x`, then `h = (h @ w + b[i]).tanh()` for each i from 0 to t - 1; `out` is the last h. The gradient of
    the loss with respect to `out` is already in `out.g`. Keep every `every`-th state in the forward pass, and recompute
    those between them when you need them. For a large t an array (t, bs, n), whole or in pieces, is too large.

    x: (bs, n)
    w: (n, n), the same at every step
    b: (t, n), a row for each step
    out: (bs, n), and so is out.g
    every: an int, after how many steps a state is kept; it may be larger than t
    """
    ### BEGIN SOLUTION
    # The checkpoints cut the chain into segments; each is recomputed and backpropagated at once, the last one first.
    kept, h = [], x
    for i in range(len(b)):
        if i % every == 0:
            kept.append(h)
        h = torch.tanh(h @ w + b[i])
    g, w.g, b.g = out.g, torch.zeros_like(w), torch.zeros_like(b)
    for start in reversed(range(0, len(b), every)):
        states = [kept.pop()]
        for row in b[start : start + every]:
            states.append(torch.tanh(states[-1] @ w + row))
        while len(states) > 1:
            sums_g = g * (1 - states.pop() ** 2)
            w.g += states[-1].t() @ sums_g
            b.g[start + len(states) - 1] = sums_g.sum(0)
            g = sums_g @ w.t()
    x.g = g
    ### END SOLUTION

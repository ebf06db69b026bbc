"""Backward pass of one step of a GRU. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def gru_step_grad(x, h, w, u, b, out):
    """Store the gradient of the loss in `x.g`, `h.g`, `w.g`, `u.g` and `b.g`.

    Forward: `xr, xz, xn = (x @ w + b).chunk(3, -1)` and `hr, hz, hn = (h @ u).chunk(3, -1)`, then `r = (xr +
    hr).sigmoid()`, `z = (xz + hz).sigmoid()`, `n = (xn + r * hn).tanh()`, and `out = (1 - z) * n + z * h`. The gradient
    of the loss with respect to `out` is already in `out.g`.

    x: (bs, n), where n is a size, not the candidate above
    h: (bs, m), the previous state
    w: (n, 3m), the parts for r, z and n side by side, in this order
    u: (m, 3m), in the same order
    b: (3m,)
    out: (bs, m), the next state, and so is out.g
    """
    x.g = ...
    h.g = ...
    w.g = ...
    u.g = ...
    b.g = ...

"""Backward pass of one step of a GRU. The lesson is README.md in this folder."""

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
    ### BEGIN SOLUTION
    # The gate r multiplies the part of h only, so the gradients of the two products differ in their last third.
    xr, xz, xn = (x @ w + b).chunk(3, -1)
    hr, hz, hn = (h @ u).chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    n_g = out.g * (1 - z) * (1 - n**2)
    z_g = out.g * (h - n) * z * (1 - z)
    r_g = n_g * hn * r * (1 - r)
    x_side = torch.cat((r_g, z_g, n_g), -1)
    h_side = torch.cat((r_g, z_g, n_g * r), -1)
    x.g = x_side @ w.t()
    h.g = h_side @ u.t() + out.g * z
    w.g = x.t() @ x_side
    u.g = h.t() @ h_side
    b.g = x_side.sum(0)
    ### END SOLUTION

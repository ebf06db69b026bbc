"""Backward pass of one step of an LSTM. The lesson is README.md in this folder."""

import torch


def lstm_step_grad(x, h, c, w, b, out):
    """Store the gradient of the loss in `x.g`, `h.g`, `c.g`, `w.g` and `b.g`.

    Forward: `i, f, g, o = (torch.cat((x, h), -1) @ w + b).chunk(4, -1)`, then `new_c = f.sigmoid() * c + i.sigmoid() *
    g.tanh()`, `new_h = o.sigmoid() * new_c.tanh()`, and `out = torch.stack((new_h, new_c))`. The gradient of the loss
    with respect to `out` is already in `out.g`.

    x: (bs, n)
    h: (bs, m), the previous state
    c: (bs, m), the previous memory
    w: (n + m, 4m), the gates side by side in the order i, f, g, o
    b: (4m,)
    out: (2, bs, m), the new h and the new c, and out.g has their two gradients
    """
    ### BEGIN SOLUTION
    # The new memory is an output and is inside the new h, so its two gradients add before they go on to the gates.
    both = torch.cat((x, h), -1)
    sums = both @ w + b
    i, f, g, o = sums.chunk(4, -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_c = out[1]
    new_c_g = out.g[1] + out.g[0] * o * (1 - new_c.tanh() ** 2)
    o_g = out.g[0] * new_c.tanh()
    sums_g = torch.cat(
        (
            new_c_g * g * i * (1 - i),
            new_c_g * c * f * (1 - f),
            new_c_g * i * (1 - g**2),
            o_g * o * (1 - o),
        ),
        -1,
    )
    both_g = sums_g @ w.t()
    x.g, h.g = both_g[:, : x.shape[1]], both_g[:, x.shape[1] :]
    c.g = new_c_g * f
    w.g = both.t() @ sums_g
    b.g = sums_g.sum(0)
    ### END SOLUTION

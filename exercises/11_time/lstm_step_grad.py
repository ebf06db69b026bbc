"""Backward pass of one step of an LSTM. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

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
    x.g = ...
    h.g = ...
    c.g = ...
    w.g = ...
    b.g = ...

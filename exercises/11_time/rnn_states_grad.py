"""Backward pass of an RNN with an output at every time step. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def rnn_states_grad(x, h0, wx, wh, b, out):
    """Store the gradient of the loss in `x.g`, `h0.g`, `wx.g`, `wh.g` and `b.g`.

    Forward: `h = (x[:, i] @ wx + h @ wh + b).tanh()` for each time step i, beginning with `h = h0`; `out[:, i]` is this
    state: `out = torch.stack(states, 1)`. The gradient of the loss with respect to `out` is already in `out.g`: one for
    the state of every time step.

    x: (bs, t, n)
    h0: (bs, m)
    wx: (n, m)
    wh: (m, m)
    b: (m,)
    out: (bs, t, m), and so is out.g
    """
    x.g = ...
    h0.g = ...
    wx.g = ...
    wh.g = ...
    b.g = ...

"""Backpropagation through time. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def rnn_grad(x, h0, wx, wh, b, out):
    """Store the gradient of the loss in `x.g`, `h0.g`, `wx.g`, `wh.g` and `b.g`.

    Forward: `h = h0`, then `h = (x[:, i] @ wx + h @ wh + b).tanh()` for each time step i, and `out` is the last `h`.
    The gradient of the loss with respect to `out` is already in `out.g`.

    x: (bs, t, n), t time steps of each example
    h0: (bs, m), the state before the first time step
    wx: (n, m)
    wh: (m, m)
    b: (m,)
    out: (bs, m), and so is out.g
    """
    x.g = ...
    h0.g = ...
    wx.g = ...
    wh.g = ...
    b.g = ...

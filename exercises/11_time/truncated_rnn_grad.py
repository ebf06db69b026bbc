"""Truncated backpropagation through time. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def truncated_rnn_grad(x, h0, wx, wh, b, out, k):
    """Store the gradient of the loss in `x.g`, `wx.g`, `wh.g` and `b.g`, but go back k time steps only.

    Forward: as in `rnn_grad`, through all time steps. Backward: the state before the last k steps is a constant, as by
    `detach()`, so that no gradient is passed to it: `x.g` is 0 at all time steps but the last k (and none is needed
    for `h0`). Where there are no more than k time steps, all of them count.

    x: (bs, t, n)
    h0: (bs, m)
    wx: (n, m)
    wh: (m, m)
    b: (m,)
    out: (bs, m), the last state, and so is out.g
    k: a whole number, at least 1
    """
    x.g = ...
    wx.g = ...
    wh.g = ...
    b.g = ...

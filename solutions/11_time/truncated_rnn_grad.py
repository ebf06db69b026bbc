"""Truncated backpropagation through time. The lesson is README.md in this folder."""

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
    ### BEGIN SOLUTION
    # The state that the last k moments start from counts as a constant, so the way back ends there.
    t = x.shape[1]
    states = [h0]
    for i in range(t):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(max(0, t - k), t)):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    ### END SOLUTION

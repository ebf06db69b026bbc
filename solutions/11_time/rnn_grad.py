"""Backpropagation through time. The lesson is README.md in this folder."""

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
    ### BEGIN SOLUTION
    # One set of weights serves every moment, so each turn of the way back adds a contribution to wx.g, wh.g and b.g.
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h_g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g
    ### END SOLUTION

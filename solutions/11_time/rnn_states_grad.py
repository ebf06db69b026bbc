"""Backward pass of an RNN with an output at every time step. The lesson is README.md in this folder."""

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
    ### BEGIN SOLUTION
    # A state is an output and what the next moment starts from, so two gradients add before the slope of tanh.
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h_g = torch.zeros_like(h0)
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - out[:, i] ** 2) * (out.g[:, i] + h_g)
        before = out[:, i - 1] if i else h0
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += before.t() @ sums_g
        b.g += sums_g.sum(0)
        h_g = sums_g @ wh.t()
    h0.g = h_g
    ### END SOLUTION

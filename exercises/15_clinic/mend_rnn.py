"""A backward pass through time with one wrong line. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def mend_rnn(x, h, wx, wh, b, out):
    """Store the gradient of the loss in `x.g`, `h.g`, `wx.g`, `wh.g` and `b.g`.

    Forward: `h = (x[:, i] @ wx + h @ wh + b).tanh()` for each time step i, and `out` is the last `h`. The gradient of
    the loss with respect to `out` is already in `out.g`. One line of the body is wrong, and the others are right. Find
    it and fix it.

    x: (bs, t, n), t time steps of each example
    h: (bs, m), the state before the first time step
    wx: (n, m)
    wh: (m, m)
    b: (m,)
    out: (bs, m), and so is out.g
    """
    # One line is wrong.
    states = [h]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, wx.g, wh.g, b.g = (torch.zeros_like(each) for each in (x, wx, wh, b))
    h.g = out.g
    for i in reversed(range(x.shape[1])):
        sums_g = (1 - states[i + 1] ** 2) * h.g
        x.g[:, i] = sums_g @ wx.t()
        wx.g += x[:, i].t() @ sums_g
        wh.g += states[i].t() @ sums_g
        b.g += sums_g.sum(0)
        h.g = sums_g @ wh

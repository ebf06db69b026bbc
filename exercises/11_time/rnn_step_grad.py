"""Backward pass of one time step of an RNN. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def rnn_step_grad(x, h, wx, wh, b, out):
    """Store the gradient of the loss in `x.g`, `h.g`, `wx.g`, `wh.g` and `b.g`.

    Forward: `out = (x @ wx + h @ wh + b).tanh()`. The gradient of the loss with respect to `out` is already in `out.g`.

    x: (bs, n), the input of this time step
    h: (bs, m), the previous state
    wx: (n, m)
    wh: (m, m)
    b: (m,)
    out: (bs, m), the next state, and so is out.g
    """
    x.g = ...
    h.g = ...
    wx.g = ...
    wh.g = ...
    b.g = ...

"""Backward pass of one time step of an RNN. The lesson is README.md in this folder."""


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
    ### BEGIN SOLUTION
    # All five go through the same tanh, so its slope is multiplied in once; the rest is a linear layer.
    sums_g = (1 - out**2) * out.g
    x.g = sums_g @ wx.t()
    h.g = sums_g @ wh.t()
    wx.g = x.t() @ sums_g
    wh.g = h.t() @ sums_g
    b.g = sums_g.sum(0)
    ### END SOLUTION

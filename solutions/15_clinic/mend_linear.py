"""A backward pass of a linear layer with relu with one wrong line. The lesson is README.md in this folder."""


def mend_linear(inp, w, b, out):
    """Store the gradient of the loss in `inp.g`, `w.g` and `b.g`.

    Forward: `out = (inp @ w + b).relu()`. The gradient of the loss with respect to `out` is already in `out.g`. One
    line of the body is wrong, and the others are right. Find it and fix it.

    inp: (bs, n)
    w: (n, m)
    b: (m,)
    out: (bs, m), and so is out.g
    """
    ### BEGIN SOLUTION
    # relu passes a nudge on or stops it: its derivative is 1 or 0, never out itself.
    pre_g = out.g * (out > 0)
    inp.g = pre_g @ w.t()
    w.g = inp.t() @ pre_g
    b.g = pre_g.sum(0)
    ### END SOLUTION

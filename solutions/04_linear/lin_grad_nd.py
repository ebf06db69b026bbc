"""A linear layer with one more axis, backwards. The lesson is README.md in this folder."""


def lin_grad_nd(inp, out, w, b):
    """Store the gradient of the loss in `inp.g`, `w.g` and `b.g`.

    Forward: `out = inp @ w + b`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, t, n)
    out: (bs, t, m), and out.g: (bs, t, m)
    w: (n, m)
    b: (m,)
    """
    ### BEGIN SOLUTION
    # All bs * t rows share w and b, so w.g and b.g sum over both leading axes; each row has its own inp.g.
    inp.g = out.g @ w.t()
    w.g = inp.flatten(0, 1).t() @ out.g.flatten(0, 1)
    b.g = out.g.sum((0, 1))
    ### END SOLUTION

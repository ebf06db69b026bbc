"""A linear layer, backwards. The lesson is README.md in this folder."""


def lin_grad(inp, out, w, b):
    """Store the gradient of the loss in `inp.g`, `w.g` and `b.g`.

    Forward: `out = inp @ w + b`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    out: (bs, m), and out.g: (bs, m)
    w: (n, m)
    b: (m,)
    """
    ### BEGIN SOLUTION
    # Each sums over the index that it does not have: inp over the outputs, w and b over the rows that share them.
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)
    ### END SOLUTION

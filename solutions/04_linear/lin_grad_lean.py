"""A linear layer, backwards, in little memory. The lesson is README.md in this folder."""


def lin_grad_lean(inp, out, w, b):
    """Store the gradient of the loss in `inp.g`, `w.g` and `b.g`, without ever holding an array of `(bs, n, m)`.

    Forward: `out = inp @ w + b`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    out: (bs, m), and out.g: (bs, m)
    w: (n, m)
    b: (m,)
    """
    ### BEGIN SOLUTION
    # A matrix product adds over the examples as it goes, and never holds one table for each of them.
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)
    ### END SOLUTION

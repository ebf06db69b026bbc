"""A linear layer, backwards, adding to what is there. The lesson is README.md in this folder."""


def lin_grad_accumulate(inp, out, w, b):
    """Add the gradient of the loss to `inp.g`, `w.g` and `b.g`; create each that is not there yet.

    Forward: `out = inp @ w + b`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n), with or without an inp.g: (bs, n)
    out: (bs, m), and out.g: (bs, m)
    w: (n, m), with or without a w.g: (n, m)
    b: (m,), with or without a b.g: (m,)
    """
    ### BEGIN SOLUTION
    # Contributions of several places add, so start from the .g that is there, or from 0.
    inp.g = getattr(inp, "g", 0) + out.g @ w.t()
    w.g = getattr(w, "g", 0) + inp.t() @ out.g
    b.g = getattr(b, "g", 0) + out.g.sum(0)
    ### END SOLUTION

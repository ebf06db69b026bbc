"""A linear layer, backwards, as far as it is needed. The lesson is README.md in this folder."""


def lin_grad_needed(inp, out, w, b, needs):
    """Store the gradient of the loss in the `.g` of those arguments that `needs` names.

    Store nothing on the others, and do no work for them.

    Forward: `out = inp @ w + b`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    out: (bs, m), and out.g: (bs, m)
    w: (n, m)
    b: (m,)
    needs: a set of names, out of "inp", "w" and "b"
    """
    ### BEGIN SOLUTION
    # Each product is inside its own question, so that what is not asked for costs nothing.
    if "inp" in needs:
        inp.g = out.g @ w.t()
    if "w" in needs:
        w.g = inp.t() @ out.g
    if "b" in needs:
        b.g = out.g.sum(0)
    ### END SOLUTION

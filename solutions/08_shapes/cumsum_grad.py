"""A cumulative sum, backwards. The lesson is README.md in this folder."""


def cumsum_grad(inp, out, dim):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.cumsum(dim)`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n, m)
    out: (bs, n, m), and out.g: (bs, n, m)
    dim: one axis, a whole number; a negative one counts from the end
    """
    ### BEGIN SOLUTION
    # An entry is in its own sum and all later ones, so its gradient is a running sum from the other end.
    inp.g = out.g.flip(dim).cumsum(dim).flip(dim)
    ### END SOLUTION

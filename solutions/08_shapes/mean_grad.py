"""A mean along an axis, backwards. The lesson is README.md in this folder."""


def mean_grad(inp, out, dim, keepdim):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.mean(dim, keepdim)`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n, m)
    out: like inp without the axis dim, or, where keepdim is True, with size 1 there; out.g: the same
    dim: one axis, a whole number; a negative one counts from the end
    keepdim: True or False
    """
    ### BEGIN SOLUTION
    # As for a sum, with each entry's share in its mean: 1 divided by the number of entries along dim.
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand(inp.shape) / inp.shape[dim]
    ### END SOLUTION

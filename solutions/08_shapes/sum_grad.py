"""A sum along an axis, backwards. The lesson is README.md in this folder."""


def sum_grad(inp, out, dim, keepdim):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.sum(dim, keepdim)`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n, m)
    out: like inp without the axis dim, or, where keepdim is True, with size 1 there; out.g: the same
    dim: one axis, a whole number; a negative one counts from the end
    keepdim: True or False
    """
    ### BEGIN SOLUTION
    # Every entry goes into its sum at the rate 1, so each gets a copy of that sum's upstream gradient.
    g = out.g if keepdim else out.g.unsqueeze(dim)
    inp.g = g.expand(inp.shape)
    ### END SOLUTION

"""A variance along an axis, backwards. The lesson is README.md in this folder."""


def var_grad(inp, out, dim, unbiased):
    """Store the gradient of the loss in `inp.g`.

    Forward: `out = inp.var(dim, unbiased=unbiased)`, which is `(deviation**2).sum(dim) / (count - unbiased)` with
    `deviation = inp - inp.mean(dim, keepdim=True)` and count the number of entries along dim. The gradient of the loss
    with respect to `out` is already in `out.g`.

    inp: (bs, n, m)
    out: like inp without the axis dim; out.g: the same
    dim: one axis, a whole number; a negative one counts from the end
    unbiased: True where the sum of squares is divided by the number of entries minus one, False for the number
    """
    ### BEGIN SOLUTION
    # The path through the mean is 0, as deviations add up to 0; the square's 2 * d over the divisor is left.
    deviation = inp - inp.mean(dim, keepdim=True)
    inp.g = 2 * deviation / (inp.shape[dim] - unbiased) * out.g.unsqueeze(dim)
    ### END SOLUTION

"""A variance along an axis, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


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
    inp.g = ...

"""Standardizing each row, backwards. The lesson is README.md in this folder."""


def standardize_grad(inp, out):
    """Store the gradient of the loss in `inp.g`.

    Forward: `mean = inp.mean(-1, keepdim=True)`, `centred = inp - mean`, `var = (centred**2).mean(-1, keepdim=True)`,
    `out = centred / (var + 1e-5).sqrt()`. The gradient of the loss with respect to `out` is already in `out.g`.

    inp: (bs, n)
    out: (bs, n), and out.g: (bs, n)
    """
    ### BEGIN SOLUTION
    # An entry also moves the mean and the width of its row, and each of these two paths takes one mean out of out.g.
    width = (inp.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    inp.g = (out.g - out.g.mean(-1, keepdim=True) - out * (out.g * out).mean(-1, keepdim=True)) / width
    ### END SOLUTION

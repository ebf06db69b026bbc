"""Tied weights, backwards. The lesson is README.md in this folder."""


def tied_weights_grad(inp, out, w):
    """Store the gradient of the loss in `inp.g` and `w.g`.

    Forward: `hidden = (inp @ w).tanh()`, `out = hidden @ w.t()`. The gradient of the loss with respect to `out` is
    already in `out.g`.

    inp: (bs, n)
    out: (bs, n), and out.g: (bs, n)
    w: (n, m)
    """
    ### BEGIN SOLUTION
    # w is in two places, so w.g adds two contributions; the decoder's weights are w.t(), so theirs is turned.
    hidden = (inp @ w).tanh()
    hidden.g = out.g @ w
    sums_g = (1 - hidden**2) * hidden.g
    inp.g = sums_g @ w.t()
    w.g = inp.t() @ sums_g + out.g.t() @ hidden
    ### END SOLUTION

"""Summed squared error, backwards. The lesson is README.md in this folder."""


def mse_sum_grad(inp, targ):
    """Store the gradient of the loss in `inp.g`.

    Forward: `loss = (inp - targ).pow(2).sum()`. There is nothing above it, so no `out.g` either.

    inp: (bs, c), and so is inp.g
    targ: (bs, c)
    """
    ### BEGIN SOLUTION
    # A sum has the factor 1, so only the 2 * d of the square is left.
    inp.g = 2 * (inp - targ)
    ### END SOLUTION

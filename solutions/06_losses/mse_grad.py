"""Mean squared error, backwards. The lesson is README.md in this folder."""


def mse_grad(inp, targ):
    """Store the gradient of the loss in `inp.g`.

    Forward: `loss = (inp.squeeze(-1) - targ).pow(2).mean()`. There is nothing above it, so no `out.g` either.

    inp: (bs, 1), and so is inp.g
    targ: (bs,)
    """
    ### BEGIN SOLUTION
    # 2 * d from the square, 1 / bs from the mean; targ gets inp's axis, or the difference would be (bs, bs).
    inp.g = 2 * (inp - targ.unsqueeze(-1)) / len(inp)
    ### END SOLUTION

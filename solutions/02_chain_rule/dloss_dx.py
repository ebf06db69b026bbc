"""The whole chain, followed by a loss. The lesson is README.md in this folder."""


def dloss_dx(x, target):
    """Return how `loss`, a single number, reacts to each entry of `x`.

    Forward: `y = x + 2`, `z = 3 * y**2`, `out = z.mean()`, over all axes, then `loss = (out - target) ** 2`.

    x: any shape; the answer has the same
    target: a float
    """
    ### BEGIN SOLUTION
    # One more factor, 2 * (out - target), is taken at out, so out is computed again; the rest is dout_dx.
    y = x + 2
    out = (3 * y**2).mean()
    return 2 * (out - target) * 6 * y / x.numel()
    ### END SOLUTION

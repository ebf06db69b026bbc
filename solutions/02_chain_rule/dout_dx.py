"""The whole chain. The lesson is README.md in this folder."""


def dout_dx(x):
    """Return how `out`, a single number, reacts to each entry of `x`.

    Forward: `y = x + 2`, `z = 3 * y**2`, `out = z.mean()`, over all axes.

    x: any shape; the answer has the same
    """
    ### BEGIN SOLUTION
    # The chain multiplies one factor for each step: 1 for y, 6 * y for z, 1/N for the mean.
    y = x + 2
    return 6 * y / x.numel()
    ### END SOLUTION

"""The first factor of a chain. The lesson is README.md in this folder."""

import torch


def dy_dx(x):
    """Return how each entry of `y` reacts to the same entry of `x`.

    Forward: `y = x + 2`.

    x: any shape; the answer has the same
    """
    ### BEGIN SOLUTION
    # A constant that is added moves y but not its derivative: every entry passes a nudge on unchanged.
    return torch.ones_like(x)
    ### END SOLUTION

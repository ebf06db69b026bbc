"""The gradient of a function of a tensor, measured. The lesson is README.md in this folder."""

import torch


def numerical_grad(f, x, h):
    """Return the gradient of `f` at `x`, entry by entry with central differences; leave `x` as it was.

    f: a function that takes a tensor like x and returns one number, as a tensor of shape ()
    x: any shape; the answer has the same
    h: a positive float
    """
    ### BEGIN SOLUTION
    # One entry at a time, and each nudge on a fresh copy, so x itself is never moved.
    grad = torch.zeros_like(x).reshape(-1)
    for i in range(x.numel()):
        above, below = x.clone().reshape(-1), x.clone().reshape(-1)
        above[i] += h
        below[i] -= h
        grad[i] = (f(above.reshape(x.shape)) - f(below.reshape(x.shape))) / (2 * h)
    return grad.reshape(x.shape)
    ### END SOLUTION

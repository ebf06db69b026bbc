"""The gradient of a function of a tensor, measured. The lesson is README.md in this folder."""

import torch


def numerical_grad(f, x, h):
    """Return the gradient of `f` at `x`, entry by entry with central differences; leave `x` as it was.

    f: a function that takes a tensor like x and returns one number, as a tensor of shape ()
    x: any shape; the answer has the same
    h: a positive float
    """
    ### BEGIN SOLUTION
    # One entry at a time; x + step is a new tensor, so x itself is never moved.
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for i in range(x.numel()):
        step = torch.zeros(x.shape, dtype=x.dtype)
        step.view(-1)[i] = h
        grad.view(-1)[i] = (f(x + step) - f(x - step)) / (2 * h)
    return grad
    ### END SOLUTION

"""A vector-Jacobian product, measured. The lesson is README.md in this folder."""

import torch


def numerical_vjp(f, x, v, h):
    """Return the gradient of `(f(x) * v).sum()` with respect to `x`, measured with central differences.

    Leave `x` and `v` as they were.

    f: a function that takes a tensor like x and returns a tensor of the same shape
    x: any shape; the answer has the same
    v: the shape of x, one weight for each output
    h: a positive float
    """
    ### BEGIN SOLUTION
    # This is the gradient of one number, (f(x) * v).sum(); v is constant, so it can be multiplied at the end.
    grad = torch.zeros(x.shape, dtype=x.dtype)
    for i in range(x.numel()):
        step = torch.zeros(x.shape, dtype=x.dtype)
        step.view(-1)[i] = h
        rise = f(x + step) - f(x - step)
        grad.view(-1)[i] = (rise * v).sum() / (2 * h)
    return grad
    ### END SOLUTION

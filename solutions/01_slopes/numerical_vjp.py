"""A vector-Jacobian product by finite differences. The lesson is README.md in this folder."""

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
    # (f(x) * v).sum() is one number, so this is numerical_grad of it; v stays as it is.
    grad = torch.zeros_like(x).reshape(-1)
    for i in range(x.numel()):
        above, below = x.clone().reshape(-1), x.clone().reshape(-1)
        above[i] += h
        below[i] -= h
        rise = f(above.reshape(x.shape)) - f(below.reshape(x.shape))
        grad[i] = (rise * v).sum() / (2 * h)
    return grad.reshape(x.shape)
    ### END SOLUTION

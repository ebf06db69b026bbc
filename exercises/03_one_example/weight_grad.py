"""The gradient of the weights, from one example. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def weight_grad(x, w, b, df):
    """Return the gradient of the loss with respect to `w`.

    Forward: `f = x @ w + b`, shape `(m,)`. The answer has shape `(n, m)`.

    x: (n,)
    w: (n, m)
    b: (m,)
    df: (m,), the gradient of the loss with respect to f
    """
    return ...

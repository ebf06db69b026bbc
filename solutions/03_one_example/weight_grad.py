"""The gradient of the weights, from one example. The lesson is README.md in this folder."""

import torch


def weight_grad(x, w, b, df):
    """Return the gradient of the loss with respect to `w`.

    Forward: `f = x @ w + b`, shape `(m,)`. The answer has shape `(n, m)`.

    x: (n,)
    w: (n, m)
    b: (m,)
    df: (m,), the gradient of the loss with respect to f
    """
    ### BEGIN SOLUTION
    # w[k,j] feeds f[j] alone, at the rate x[k]: one product for each entry, and nothing to add.
    return torch.outer(x, df)
    ### END SOLUTION

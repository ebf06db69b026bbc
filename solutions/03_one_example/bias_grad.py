"""The gradient of the bias, from one example. The lesson is README.md in this folder."""


def bias_grad(x, w, b, df):
    """Return the gradient of the loss with respect to `b`.

    Forward: `f = x @ w + b`, shape `(m,)`. The answer has shape `(m,)`.

    x: (n,)
    w: (n, m)
    b: (m,)
    df: (m,), the gradient of the loss with respect to f
    """
    ### BEGIN SOLUTION
    # b[j] feeds f[j] alone, at the rate 1, so the loss reacts to b[j] as it does to f[j].
    return df
    ### END SOLUTION

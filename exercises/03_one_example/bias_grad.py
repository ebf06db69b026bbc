"""The gradient of the bias, from one example. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def bias_grad(x, w, b, df):
    """Return the gradient of the loss with respect to `b`.

    Forward: `f = x @ w + b`, shape `(m,)`. The answer has shape `(m,)`.

    x: (n,)
    w: (n, m)
    b: (m,)
    df: (m,), the gradient of the loss with respect to f
    """
    return ...

"""The gradient of one example's input. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def input_grad(x, w, b, df):
    """Return the gradient of the loss with respect to `x`.

    Forward: `f = x @ w + b`, shape `(m,)`. The answer has shape `(n,)`.

    x: (n,)
    w: (n, m)
    b: (m,)
    df: (m,), the gradient of the loss with respect to f
    """
    return ...

"""The gradient of one example's input. The lesson is README.md in this folder."""


def input_grad(x, w, b, df):
    """Return the gradient of the loss with respect to `x`.

    Forward: `f = x @ w + b`, shape `(m,)`. The answer has shape `(n,)`.

    x: (n,)
    w: (n, m)
    b: (m,)
    df: (m,), the gradient of the loss with respect to f
    """
    ### BEGIN SOLUTION
    # x[k] has a path through every f[j], and paths add: row k of w times df, summed over j.
    return w @ df
    ### END SOLUTION

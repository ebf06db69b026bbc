"""A Jacobian of one example. The lesson is README.md in this folder."""


def df_dx(x, w, b):
    """Return the Jacobian of `f` with respect to `x`: entry `[j, k]` is how `f[j]` reacts to `x[k]`.

    Forward: `f = x @ w + b`, shape `(m,)`. The answer has shape `(m, n)`.

    x: (n,)
    w: (n, m)
    b: (m,)
    """
    ### BEGIN SOLUTION
    # f[j] contains x[k] * w[k,j], so entry [j, k] is w[k,j]: the Jacobian counts outputs down the side.
    return w.t()
    ### END SOLUTION

"""A Hessian times a vector, without the Hessian. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def hvp_logistic(w, x, targ, v):
    """Return the Hessian of a logistic regression's loss at `w`, times `v`, without ever holding an (n, n) array.

    The gradient of the loss is `grad = x.t() @ error / bs` with `error = (x @ w).sigmoid() - targ`. Forward:
    `out = grad @ v`, one number. Return its gradient with respect to w; that is the Hessian times v.

    w: (n,); the answer has the same shape
    x: (bs, n)
    targ: (bs,), 0 or 1
    v: (n,)
    """
    return ...

"""A Hessian times a vector, without the Hessian. The lesson is README.md in this folder."""


def hvp_logistic(w, x, targ, v):
    """Return the Hessian of a logistic regression's loss at `w`, times `v`, without ever holding an (n, n) array.

    The gradient of the loss is `grad = x.t() @ error / bs` with `error = (x @ w).sigmoid() - targ`. Forward:
    `out = grad @ v`, one number. Return its gradient with respect to w; that is the Hessian times v.

    w: (n,); the answer has the same shape
    x: (bs, n)
    targ: (bs,), 0 or 1
    v: (n,)
    """
    ### BEGIN SOLUTION
    # From the right to the left every step makes a vector: of n, of bs, a factor for each example, and of n again.
    p = (x @ w).sigmoid()
    return x.t() @ (p * (1 - p) * (x @ v)) / len(x)
    ### END SOLUTION

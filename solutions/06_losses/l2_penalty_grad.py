"""A penalty on large weights, backwards. The lesson is README.md in this folder."""


def l2_penalty_grad(w, lam):
    """Store the gradient of the penalty in `w.g`.

    Forward: `penalty = lam * (w**2).sum()`, one number.

    w: any shape; w.g has the same
    lam: a positive float
    """
    ### BEGIN SOLUTION
    # Each weight has its own square in the sum, so 2 * w, times the constant lam.
    w.g = 2 * lam * w
    ### END SOLUTION

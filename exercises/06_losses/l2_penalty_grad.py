"""A penalty on large weights, backwards. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def l2_penalty_grad(w, lam):
    """Store the gradient of the penalty in `w.g`.

    Forward: `penalty = lam * (w**2).sum()`, one number.

    w: any shape; w.g has the same
    lam: a positive float
    """
    w.g = ...

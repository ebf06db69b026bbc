"""Clip gradients by their norm. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def clip_grad_norm(grads, limit):
    """Return the gradients, scaled together so that their norm is at most `limit`.

    The norm is the square root of the sum of the squares of all entries of all arrays. Where it is not larger than
    `limit`, the gradients are returned as they are. The arrays in `grads` stay unchanged.

    grads: a list of three tensors: (n, m), (m,) and (k, n)
    limit: a float, the largest norm that is allowed
    returns: a list of three tensors, in the same order
    """
    return ...

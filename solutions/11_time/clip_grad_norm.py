"""Clip gradients by their norm. The lesson is README.md in this folder."""


def clip_grad_norm(grads, limit):
    """Return the gradients, scaled together so that their norm is at most `limit`.

    The norm is the square root of the sum of the squares of all entries of all arrays. Where it is not larger than
    `limit`, the gradients are returned as they are. The arrays in `grads` stay unchanged.

    grads: a list of three tensors: (n, m), (m,) and (k, n)
    limit: a float, the largest norm that is allowed
    returns: a list of three tensors, in the same order
    """
    ### BEGIN SOLUTION
    # One factor for all arrays keeps the direction of the step; it is at most 1, since nothing is to grow.
    norm = sum((grad**2).sum() for grad in grads) ** 0.5
    scale = min(1.0, limit / float(norm))
    return [scale * grad for grad in grads]
    ### END SOLUTION

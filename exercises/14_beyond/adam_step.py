"""A step of Adam. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    """Return the new `p`, the new `m` and the new `v`; leave the arguments as they are.

    The new m averages the old m, with the weight beta1, and g, with the weight 1 - beta1. The new v averages the old v,
    with the weight beta2, and g squared, with the weight 1 - beta2. For the step, let `mean` be the new m divided by
    1 - beta1**t, and `square` the new v divided by 1 - beta2**t. The new p is p - lr * mean / (sqrt(square) + eps).

    p: any shape, a parameter
    g: the shape of p, its gradient
    m: the shape of p, the first moment, kept from step to step
    v: the shape of p, the second moment, kept from step to step
    t: an int, the number of this step, counted from 1
    lr: a float, how far a step goes
    beta1: a float, how much of m is kept
    beta2: a float, how much of v is kept
    eps: a float, what keeps the denominator away from 0
    returns: the new p, the new m and the new v, in this order
    """
    return ...

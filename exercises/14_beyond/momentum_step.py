"""A step of gradient descent with momentum. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def momentum_step(p, g, m, lr, beta):
    """Return the new `p` and the new `m`; leave the arguments as they are.

    The new m is beta times the old m, plus g. The new p is the old p minus lr times the new m.

    p: any shape, a parameter
    g: the shape of p, its gradient
    m: the shape of p, what is kept from step to step
    lr: a float, how far a step goes
    beta: a float, how much of m is kept
    returns: the new p and the new m, in this order
    """
    return ...

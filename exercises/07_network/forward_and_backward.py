"""A whole network, forward and backward. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.


def forward_and_backward(inp, targ, w1, b1, w2, b2):
    """Return the loss, and store its gradient in `inp.g`, `w1.g`, `b1.g`, `w2.g` and `b2.g`.

    Forward: `l1 = inp @ w1 + b1`, `l2 = l1.clamp_min(0)`, `out = l2 @ w2 + b2`, `loss = mse(out, targ)`, where mse
    drops the last axis of `out` and averages the squared differences over the examples.

    inp: (bs, n)
    targ: (bs,)
    w1: (n, h)
    b1: (h,)
    w2: (h, 1)
    b2: (1,)
    """
    inp.g = ...
    w1.g = ...
    b1.g = ...
    w2.g = ...
    b2.g = ...
    return ...

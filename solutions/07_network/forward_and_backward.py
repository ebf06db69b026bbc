"""A whole network, forward and backward. The lesson is README.md in this folder."""


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
    ### BEGIN SOLUTION
    # Each step has a name, since the .g that is stored on it is read by the step before; so start at the loss.
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out - targ.unsqueeze(-1)
    loss = diff.pow(2).mean()

    out.g = 2 * diff / len(inp)
    l2.g = out.g @ w2.t()
    w2.g = l2.t() @ out.g
    b2.g = out.g.sum(0)
    l1.g = (l1 > 0) * l2.g
    inp.g = l1.g @ w1.t()
    w1.g = inp.t() @ l1.g
    b1.g = l1.g.sum(0)
    return loss
    ### END SOLUTION

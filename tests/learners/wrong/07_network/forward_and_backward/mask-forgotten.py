# expect inp.g: missing-local
# expect w1.g: missing-local
# expect b1.g: missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    g = 2 * diff[:, None] / len(targ)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = g @ w2.t()
    w1.g, b1.g = inp.t() @ g, g.sum(0)
    inp.g = g @ w1.t()
    return diff.pow(2).mean()

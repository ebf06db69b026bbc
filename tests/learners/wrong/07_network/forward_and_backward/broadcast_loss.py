# expect return: broadcast-accident
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    loss = (out - targ).pow(2).mean()
    g = 2 * (out - targ[:, None]) / out.shape[0]
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g = inp.t() @ g, g.sum(0)
    inp.g = g @ w1.t()
    return loss

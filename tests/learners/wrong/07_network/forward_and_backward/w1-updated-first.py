# expect inp.g: wrong-operand
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g1 = g @ w2.t() * (l1 > 0)
    w1.g, b1.g = inp.t() @ g1, g1.sum(0)
    w1_new = w1 - 0.01 * w1.g
    inp.g = g1 @ w1_new.t()
    return diff.pow(2).mean()

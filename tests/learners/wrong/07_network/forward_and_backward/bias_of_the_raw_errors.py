# expect b2.g: missing-local | extra-factor
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2 + b2
    diff = out - targ[:, None]
    g = 2 * diff / len(inp)
    w2.g = l2.t() @ g
    b2.g = diff.sum(0)
    l1_g = (g @ w2.t()) * (l1 > 0)
    w1.g = inp.t() @ l1_g
    b1.g = l1_g.sum(0)
    inp.g = l1_g @ w1.t()
    return diff.pow(2).mean()

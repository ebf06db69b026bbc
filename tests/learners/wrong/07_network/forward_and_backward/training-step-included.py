# expect *: mutated-input
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = 2 * diff.unsqueeze(-1) / len(targ)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g, g.sum(0), g @ w1.t()
    for p in (w1, b1, w2, b2):
        p -= 0.01 * p.g
    return (diff**2).mean()

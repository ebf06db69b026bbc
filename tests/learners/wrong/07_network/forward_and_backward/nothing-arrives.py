# expect inp.g: hard-coded
# expect w1.g: hard-coded
# expect b1.g: hard-coded
# expect w2.g: hard-coded
# expect b2.g: hard-coded
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    g = (0 * diff / len(targ)).unsqueeze(-1)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g1 = g @ w2.t() * (l1 > 0)
    inp.g, w1.g, b1.g = g1 @ w1.t(), inp.t() @ g1, g1.sum(0)
    return diff.pow(2).mean()

# expect *: wrong-point | missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1
    l2 = l1.relu()
    out = l2 @ w2
    d = out.squeeze(-1) - targ
    og = 2 * d.unsqueeze(-1) / d.numel()
    w2.g, b2.g = l2.T @ og, og.sum(0)
    l1g = (og @ w2.T) * (l1 > 0)
    w1.g, b1.g = inp.T @ l1g, l1g.sum(0)
    inp.g = l1g @ w1.T
    return d.pow(2).mean()

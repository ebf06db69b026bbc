# expect inp.g: wrong-local | wrong-point
# expect w1.g: wrong-local | wrong-point
# expect b1.g: wrong-local | wrong-point
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2 + b2
    d = out.squeeze(-1) - targ
    og = 2 * d.unsqueeze(-1) / d.numel()
    w2.g, b2.g = l2.T @ og, og.sum(0)
    l2g = og @ w2.T
    l1g = l2g * (l2g > 0)
    w1.g, b1.g = inp.T @ l1g, l1g.sum(0)
    inp.g = l1g @ w1.T
    return d.square().mean()

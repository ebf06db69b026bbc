# expect inp.g: wrong-operand
# expect w1.g: wrong-operand
# expect b1.g: wrong-operand
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    diff = (l2 @ w2 + b2).squeeze(-1) - targ
    loss = diff.pow(2).mean()
    g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g, b2.g = l2.t() @ g, g.sum(0)
    g1 = g @ w2.g.t() * (l1 > 0)
    inp.g, w1.g, b1.g = g1 @ w1.t(), inp.t() @ g1, g1.sum(0)
    return loss

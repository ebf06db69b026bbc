# expect w2.g: wrong-point | wrong-operand | missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    out_g = 2 * diff.unsqueeze(-1) / len(diff)
    w2.g = l1.t() @ out_g
    b2.g = out_g.sum(0)
    l1_g = (out_g @ w2.t()) * (l1 > 0)
    inp.g = l1_g @ w1.t()
    w1.g = inp.t() @ l1_g
    b1.g = l1_g.sum(0)
    return diff.pow(2).mean()

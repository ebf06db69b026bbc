# expect b1.g: mean-for-sum
# expect b2.g: mean-for-sum
# expect return: wrong-type
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    g = (2 / len(targ)) * diff.unsqueeze(-1)
    w2.g = l2.t() @ g
    b2.g = g.mean(0)
    g = g @ w2.t()
    g = g * (l2 > 0)
    w1.g = inp.t() @ g
    b1.g = g.mean(0)
    inp.g = g @ w1.t()
    return (diff ** 2).mean().item()

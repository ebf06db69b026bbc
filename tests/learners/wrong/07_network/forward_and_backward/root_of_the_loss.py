# expect return: wrong-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    out.g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g = l2.t() @ out.g
    b2.g = out.g.sum(0)
    l2.g = out.g @ w2.t()
    l1.g = l2.g * (l1 > 0)
    w1.g = inp.t() @ l1.g
    b1.g = l1.g.sum(0)
    inp.g = l1.g @ w1.t()
    return (diff**2).mean().sqrt()

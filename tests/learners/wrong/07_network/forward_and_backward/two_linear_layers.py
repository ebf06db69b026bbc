# expect inp.g: missing-local
# expect w1.g: missing-local
# expect b1.g: missing-local
# expect w2.g: missing-local | wrong-point
# expect b2.g: missing-local | wrong-point
# expect return: missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    out = l1 @ w2 + b2
    diff = out.squeeze(-1) - targ
    out.g = (2 * diff / len(targ)).unsqueeze(-1)
    w2.g = l1.t() @ out.g
    b2.g = out.g.sum(0)
    l1.g = out.g @ w2.t()
    w1.g = inp.t() @ l1.g
    b1.g = l1.g.sum(0)
    inp.g = l1.g @ w1.t()
    return (diff**2).mean()

# expect inp.g: missing-local
# expect w1.g: missing-local
# expect b1.g: missing-local
# expect w2.g: missing-local
# expect b2.g: missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    h = l1.relu()
    diff = (h @ w2 + b2).squeeze(1) - targ
    g = diff.unsqueeze(1) / len(diff)
    w2.g, b2.g = h.t() @ g, g.sum(0)
    g1 = (g @ w2.t()) * (l1 > 0)
    w1.g, b1.g, inp.g = inp.t() @ g1, g1.sum(0), g1 @ w1.t()
    return (diff ** 2).mean()

# expect w2.g: wrong-operand | wrong-point
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    h = inp @ w1 + b1
    a = h.clamp_min(0.)
    out = a @ w2 + b2
    d = out - targ.unsqueeze(1)
    g = 2 * d / len(d)
    b2.g = g.sum(0)
    w2.g = h.t() @ g
    gh = (g @ w2.t()) * (h > 0)
    b1.g = gh.sum(0)
    w1.g = inp.t() @ gh
    inp.g = gh @ w1.t()
    return (d ** 2).mean()

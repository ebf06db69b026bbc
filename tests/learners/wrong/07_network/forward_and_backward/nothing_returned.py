# expect return: missing-answer
def lin(i, o, w, b):
    i.g = o.g @ w.t()
    w.g = i.t() @ o.g
    b.g = o.g.sum(0)

def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.relu()
    out = l2 @ w2 + b2
    loss = (out.squeeze(-1) - targ).pow(2).mean()
    out.g = 2. * (out.squeeze(-1) - targ).unsqueeze(-1) / out.shape[0]
    lin(l2, out, w2, b2)
    l1.g = (l1 > 0).float() * l2.g
    lin(inp, l1, w1, b1)

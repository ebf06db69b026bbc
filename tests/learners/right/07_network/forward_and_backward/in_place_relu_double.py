import torch

def forward_and_backward(inp, targ, w1, b1, w2, b2):
    X, T, W1, B1, W2, B2 = (t.double() for t in (inp, targ, w1, b1, w2, b2))
    a = (X @ W1 + B1).clamp_min_(0)
    err = (a @ W2 + B2)[:, 0] - T
    loss = err.dot(err) / err.numel()
    g = (2 / err.numel()) * err[:, None]
    ga = g @ W2.t()
    ga[a == 0] = 0
    grads = [(inp, ga @ W1.t()), (w1, X.t() @ ga), (b1, ga.sum(0)),
             (w2, a.t() @ g), (b2, g.sum(0))]
    for t, v in grads:
        t.g = v.float()
    return loss.float()

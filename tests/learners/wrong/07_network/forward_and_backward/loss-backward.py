# expect *: used-autograd
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    ts = [t.clone().requires_grad_() for t in (inp, w1, b1, w2, b2)]
    x, a, c, d, e = ts
    loss = (((x @ a + c).relu() @ d + e).squeeze(-1) - targ).pow(2).mean()
    loss.backward()
    for t, copy in zip((inp, w1, b1, w2, b2), ts):
        t.g = copy.grad
    return loss.detach()

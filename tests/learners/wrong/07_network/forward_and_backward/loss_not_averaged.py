# expect inp.g: sum-for-mean | missing-local
# expect w1.g: sum-for-mean | missing-local
# expect b1.g: sum-for-mean | missing-local
# expect w2.g: sum-for-mean | missing-local
# expect b2.g: sum-for-mean | missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out[:, 0] - targ
    out.g = 2 * diff[:, None]
    l2.g = out.g @ w2.T
    w2.g = l2.T @ out.g
    b2.g = out.g.sum(0)
    l1.g = l2.g * (l1 > 0).float()
    inp.g = l1.g @ w1.T
    w1.g = inp.T @ l1.g
    b1.g = l1.g.sum(0)
    return (diff * diff).mean()

# expect inp.g: wrong-local | unknown
# expect w1.g: wrong-local | unknown
# expect b1.g: wrong-local | unknown
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out[:, 0] - targ
    loss = diff.pow(2).mean()
    out_g = 2 * diff[:, None] / len(diff)
    l2_g = out_g @ w2.t()
    w2.g = l2.t() @ out_g
    b2.g = out_g.sum(0)
    l1_g = l2_g.clamp_min(0)
    inp.g = l1_g @ w1.t()
    w1.g = inp.t() @ l1_g
    b1.g = l1_g.sum(0)
    return loss

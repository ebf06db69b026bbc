# expect inp.g: missing-local
# expect w1.g: missing-local
# expect b1.g: missing-local
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    l1 = inp @ w1 + b1
    l2 = l1.clamp_min(0)
    out = l2 @ w2 + b2
    diff = out.squeeze(-1) - targ
    loss = diff.pow(2).mean()

    out_g = 2 * diff.unsqueeze(-1) / inp.shape[0]
    w2.g = l2.t() @ out_g
    b2.g = out_g.sum(0)
    l2_g = out_g @ w2.t()
    w1.g = inp.t() @ l2_g
    b1.g = l2_g.sum(0)
    inp.g = l2_g @ w1.t()
    return loss

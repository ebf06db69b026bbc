# expect w.g: overwritten | partial-batch
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    for t in range(inp.shape[1]):
        w.g = inp[:, t].t() @ out.g[:, t]
    b.g = out.g.sum(0).sum(0)

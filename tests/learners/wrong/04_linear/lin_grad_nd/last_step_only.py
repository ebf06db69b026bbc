# expect w.g: partial-batch
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp[:, -1].t() @ out.g[:, -1]
    b.g = out.g.sum((0, 1))

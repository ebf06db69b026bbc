# expect w.g: reshape-for-transpose
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.reshape(inp.shape[-1], -1) @ out.g.reshape(-1, out.shape[-1])
    b.g = out.g.sum((0, 1))

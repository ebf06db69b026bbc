# expect w.g: reshape-for-transpose
def lin_grad_nd(inp, out, w, b):
    n, m = w.shape
    inp.g = out.g @ w.t()
    w.g = inp.reshape(n, -1) @ out.g.reshape(-1, m)
    b.g = out.g.sum(1).sum(0)

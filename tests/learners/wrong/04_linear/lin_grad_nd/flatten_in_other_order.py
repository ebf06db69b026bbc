# expect w.g: reshape-for-transpose
def lin_grad_nd(inp, out, w, b):
    n, m = w.shape
    inp.g = out.g @ w.t()
    w.g = inp.reshape(-1, n).t() @ out.g.transpose(0, 1).reshape(-1, m)
    b.g = out.g.sum((0, 1))

# expect b.g: summed-wrong-axis
def lin_grad_nd(inp, out, w, b):
    n, m = w.shape
    inp.g = out.g @ w.t()
    w.g = inp.reshape(-1, n).t() @ out.g.reshape(-1, m)
    b.g = out.g.sum((1, 2))

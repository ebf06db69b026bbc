# expect b.g: wrong-factor
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.cumsum(0).sum(0)

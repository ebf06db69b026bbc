# expect w.g: value-for-gradient
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out
    b.g = out.g.sum(0)

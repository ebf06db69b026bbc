# expect w.g: wrong-local
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g + w
    b.g = out.g.sum(0)

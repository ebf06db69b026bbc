# expect w.g: wrong-factor
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = 2 * inp.t() @ out.g
    b.g = out.g.sum(0)

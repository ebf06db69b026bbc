# expect w.g: wrong-attribute
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.gradient = inp.t() @ out.g
    b.g = out.g.sum(0)

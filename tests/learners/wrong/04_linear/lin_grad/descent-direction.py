# expect w.g: wrong-sign
# expect b.g: wrong-sign
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = -inp.t() @ out.g
    b.g = -out.g.sum(0)

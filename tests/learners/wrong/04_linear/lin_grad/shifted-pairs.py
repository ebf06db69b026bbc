# expect w.g: wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    b.g = out.g.sum(0)
    w.g = inp[:-1].t() @ out.g[1:]

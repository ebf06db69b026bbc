# expect b.g: wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = w.g.sum(0)

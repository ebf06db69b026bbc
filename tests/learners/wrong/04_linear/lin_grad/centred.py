# expect w.g: wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = (inp - inp.mean(0)).t() @ out.g
    b.g = out.g.sum(0)

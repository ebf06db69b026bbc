# expect inp.g: wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = (out.g - b) @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)

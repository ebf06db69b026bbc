# expect inp.g: wrong-sign
# expect w.g: wrong-operand
# expect b.g: wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = (out.g @ w.t()).abs()
    w.g = inp.t() @ out.g.abs()
    b.g = out.g.abs().sum(0)

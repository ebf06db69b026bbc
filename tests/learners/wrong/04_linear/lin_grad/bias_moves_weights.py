# expect b.g: extra-factor | wrong-operand
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = (out.g * out).sum(0)

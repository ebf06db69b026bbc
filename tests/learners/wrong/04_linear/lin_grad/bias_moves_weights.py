# expect b.g: wrong-local | extra-factor
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = (out.g * out).sum(0)

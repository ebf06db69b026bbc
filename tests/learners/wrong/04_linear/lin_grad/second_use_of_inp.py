# expect inp.g: extra-factor
def lin_grad(inp, out, w, b):
    inp.g = inp * (out.g @ w.t())
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)

# expect inp.g: not-linear
def lin_grad(inp, out, w, b):
    inp.g = (out.g @ w.t()).clamp(-1, 1)
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)

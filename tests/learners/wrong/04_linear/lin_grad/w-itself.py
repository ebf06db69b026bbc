# expect w.g: forward-value
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = w
    b.g = out.g.sum(0)

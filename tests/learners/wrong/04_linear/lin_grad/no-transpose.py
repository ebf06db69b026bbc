# expect *: error
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w
    w.g = inp @ out.g
    b.g = out.g.sum(0)

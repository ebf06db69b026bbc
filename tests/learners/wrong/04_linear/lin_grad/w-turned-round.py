# expect w.g: transposed
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.T
    w.g = out.g.T @ inp
    b.g = out.g.sum(dim=0)

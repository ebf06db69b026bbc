# expect w.g: transposed
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = out.g.t() @ inp / inp.shape[0]
    b.g = out.g.sum(0)

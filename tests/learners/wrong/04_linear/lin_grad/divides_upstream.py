# expect *: mutated-input
def lin_grad(inp, out, w, b):
    out.g /= inp.shape[0]
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)

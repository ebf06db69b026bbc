# expect inp.g: wrong-shape
def lin_grad_nd(inp, out, w, b):
    x, g = inp.flatten(0, 1), out.g.flatten(0, 1)
    inp.g = g @ w.t()
    w.g = x.t() @ g
    b.g = g.sum(0)

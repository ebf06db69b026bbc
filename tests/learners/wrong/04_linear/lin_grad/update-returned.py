# expect w.g: wrong-local
# expect b.g: wrong-local
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    b.g = b - 0.1 * out.g.sum(0)
    w.g = w - 0.1 * inp.t() @ out.g

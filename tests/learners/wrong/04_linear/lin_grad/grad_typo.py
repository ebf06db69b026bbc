# expect w.g: wrong-attribute
# expect b.g: wrong-attribute
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.grad = inp.t() @ out.g
    b.grad = out.g.sum(0)

# expect *: wrong-attribute
def lin_grad(inp, out, w, b):
    inp.grad = out.g @ w.t()
    w.grad = inp.t() @ out.g
    b.grad = out.g.sum(0)

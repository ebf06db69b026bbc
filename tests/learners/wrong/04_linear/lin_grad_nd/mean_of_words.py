# expect w.g: sum-of-products
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.mean(1).t() @ out.g.sum(1)
    b.g = out.g.sum((0, 1))

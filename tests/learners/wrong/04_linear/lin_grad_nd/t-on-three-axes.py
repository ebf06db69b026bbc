# expect *: error
def lin_grad_nd(inp, out, w, b):
    w.g = inp.t() @ out.g
    inp.g = out.g @ w.t()
    b.g = out.g.sum(0).sum(0)

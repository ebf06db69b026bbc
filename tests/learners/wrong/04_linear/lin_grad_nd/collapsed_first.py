# expect w.g: sum-of-products
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    # get rid of t first, then it is the 2d case
    x, g = inp.sum(1), out.g.sum(1)
    w.g = x.t() @ g
    b.g = g.sum(0)

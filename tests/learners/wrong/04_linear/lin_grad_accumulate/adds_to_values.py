# expect *: overwritten
def lin_grad_accumulate(inp, out, w, b):
    inp.g = inp + out.g @ w.t()
    w.g = w + inp.t() @ out.g
    b.g = b + out.g.sum(0)

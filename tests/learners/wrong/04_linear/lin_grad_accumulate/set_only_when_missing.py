# expect *: overwritten | missing-path
def lin_grad_accumulate(inp, out, w, b):
    if not hasattr(inp, "g"):
        inp.g = out.g @ w.t()
    if not hasattr(w, "g"):
        w.g = inp.t() @ out.g
    if not hasattr(b, "g"):
        b.g = out.g.sum(0)

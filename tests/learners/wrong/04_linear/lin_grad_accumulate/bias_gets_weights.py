# expect b.g: overwritten
def lin_grad_accumulate(inp, out, w, b):
    inp.g = getattr(inp, "g", 0) + out.g @ w.t()
    w.g = getattr(w, "g", 0) + inp.t() @ out.g
    b.g = out.g.sum(0)

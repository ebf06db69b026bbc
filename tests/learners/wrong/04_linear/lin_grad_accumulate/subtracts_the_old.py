# expect inp.g: wrong-sign | overwritten
def lin_grad_accumulate(inp, out, w, b):
    inp.g = out.g @ w.t() - getattr(inp, "g", 0)
    w.g = getattr(w, "g", 0) + inp.t() @ out.g
    b.g = getattr(b, "g", 0) + out.g.sum(0)

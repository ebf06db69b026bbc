# expect *: wrong-factor
def lin_grad_accumulate(inp, out, w, b):
    gi, gw, gb = out.g @ w.t(), inp.t() @ out.g, out.g.sum(0)
    inp.g = getattr(inp, "g", gi) + gi
    w.g = getattr(w, "g", gw) + gw
    b.g = getattr(b, "g", gb) + gb

# expect inp.g: overwritten
def lin_grad_accumulate(inp, out, w, b):
    inp.g = out.g @ w.t()
    for p, g in ((w, inp.t() @ out.g), (b, out.g.sum(0))):
        p.g = p.g + g if hasattr(p, "g") else g

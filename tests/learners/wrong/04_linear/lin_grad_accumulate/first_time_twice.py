# expect b.g: extra-factor | wrong-factor
def lin_grad_accumulate(inp, out, w, b):
    if not hasattr(b, "g"):
        b.g = out.g.sum(0)
    b.g = b.g + out.g.sum(0)
    inp.g = getattr(inp, "g", 0) + out.g @ w.t()
    w.g = getattr(w, "g", 0) + inp.t() @ out.g

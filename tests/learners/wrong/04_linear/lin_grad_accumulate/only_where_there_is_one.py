# expect w.g: missing-answer
def lin_grad_accumulate(inp, out, w, b):
    inp.g = getattr(inp, "g", 0) + out.g @ w.t()
    if hasattr(w, "g"):
        w.g = w.g + inp.t() @ out.g
    b.g = getattr(b, "g", 0) + out.g.sum(0)

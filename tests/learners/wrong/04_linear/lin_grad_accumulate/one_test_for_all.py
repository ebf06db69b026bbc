# expect *: error
def lin_grad_accumulate(inp, out, w, b):
    gi, gw, gb = out.g @ w.t(), inp.t() @ out.g, out.g.sum(0)
    if hasattr(inp, "g"):
        inp.g, w.g, b.g = inp.g + gi, w.g + gw, b.g + gb
    else:
        inp.g, w.g, b.g = gi, gw, gb

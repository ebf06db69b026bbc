# expect *: wrong-factor
def lin_grad_accumulate(inp, out, w, b):
    for t, g in ((inp, out.g @ w.t()), (w, inp.t() @ out.g), (b, out.g.sum(0))):
        if not hasattr(t, "g"):
            t.g = g
        else:
            t.g += t.g + g

# expect inp.g: wrong-factor
# expect w.g: wrong-factor
# expect b.g: wrong-factor
def lin_grad_accumulate(inp, out, w, b):
    for t, g in ((inp, out.g @ w.t()), (w, inp.t() @ out.g), (b, out.g.sum(0))):
        t.g = 0.9 * getattr(t, "g", 0) + g

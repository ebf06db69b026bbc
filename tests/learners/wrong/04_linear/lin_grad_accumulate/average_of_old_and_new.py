# expect *: mean-for-sum
def lin_grad_accumulate(inp, out, w, b):
    for t, g in ((inp, out.g @ w.t()), (w, inp.t() @ out.g), (b, out.g.sum(0))):
        t.g = (t.g + g) / 2 if hasattr(t, "g") else g

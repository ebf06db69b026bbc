def lin_grad_accumulate(inp, out, w, b):
    for owner, g in ((inp, out.g @ w.t()), (w, inp.t() @ out.g), (b, out.g.sum(0))):
        try:
            owner.g = owner.g + g
        except AttributeError:
            owner.g = g

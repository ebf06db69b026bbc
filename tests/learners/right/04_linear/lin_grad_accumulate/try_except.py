def lin_grad_accumulate(inp, out, w, b):
    new = {inp: out.g @ w.t(), w: inp.t() @ out.g, b: out.g.sum(0)}
    for t, g in new.items():
        try:
            t.g = t.g + g
        except AttributeError:
            t.g = g

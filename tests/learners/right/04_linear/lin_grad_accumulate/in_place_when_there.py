def lin_grad_accumulate(inp, out, w, b):
    def acc(t, g):
        if getattr(t, "g", None) is None:
            t.g = g
        else:
            t.g += g
    acc(inp, out.g @ w.t())
    acc(w, inp.t() @ out.g)
    acc(b, out.g.sum(0))

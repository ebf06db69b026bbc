# expect b.g: overwritten
def add(t, g):
    t.g = getattr(t, "g", 0) + g


def lin_grad_accumulate(inp, out, w, b):
    add(inp, out.g @ w.t())
    add(w, inp.t() @ out.g)
    b.g = out.g.sum(0)

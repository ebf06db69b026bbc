def accumulate(t, new):
    try:
        t.g += new
    except AttributeError:
        t.g = new


def lin_grad_accumulate(inp, out, w, b):
    accumulate(inp, out.g @ w.t())
    accumulate(w, inp.t() @ out.g)
    accumulate(b, out.g.sum(0))

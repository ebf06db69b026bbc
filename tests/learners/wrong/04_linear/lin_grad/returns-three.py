# expect *: returned-not-stored
def lin_grad(inp, out, w, b):
    dinp = out.g @ w.t()
    dw = inp.t() @ out.g
    db = out.g.sum(0)
    return dinp, dw, db

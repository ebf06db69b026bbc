# expect *: error
def lin_grad_needed(inp, out, w, b, needs):
    if needs[0]:
        inp.g = out.g @ w.t()
    if needs[1]:
        w.g = inp.t() @ out.g
    if needs[2]:
        b.g = out.g.sum(0)

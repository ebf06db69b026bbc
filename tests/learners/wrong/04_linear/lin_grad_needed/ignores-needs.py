# expect *: extra-work
def lin_grad_needed(inp, out, w, b, needs):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)

# expect *: missing-answer | extra-work
def lin_grad_needed(inp, out, w, b, needs):
    if "inp" not in needs:
        inp.g = out.g @ w.t()
    if "w" not in needs:
        w.g = inp.t() @ out.g
    if "b" not in needs:
        b.g = out.g.sum(0)

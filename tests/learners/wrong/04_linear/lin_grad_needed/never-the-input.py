# expect inp.g: missing-answer
def lin_grad_needed(inp, out, w, b, needs):
    if "w" in needs:
        w.g = inp.t() @ out.g
    if "b" in needs:
        b.g = out.g.sum(0)

# expect w.g: missing-answer
# expect b.g: missing-answer
def lin_grad_needed(inp, out, w, b, needs):
    if "inp" in needs:
        inp.g = out.g @ w.t()
    elif "w" in needs:
        w.g = inp.t() @ out.g
    elif "b" in needs:
        b.g = out.g.sum(0)

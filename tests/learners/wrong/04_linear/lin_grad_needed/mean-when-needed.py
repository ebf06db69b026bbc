# expect b.g: mean-for-sum
def lin_grad_needed(inp, out, w, b, needs):
    if "inp" in needs:
        inp.g = out.g @ w.t()
    if "w" in needs:
        w.g = inp.t() @ out.g
    if "b" in needs:
        b.g = out.g.mean(0)

# expect b.g: extra-work
def lin_grad_needed(inp, out, w, b, needs):
    if "inp" in needs: inp.g = out.g @ w.t()
    if "w" in needs: w.g = inp.t() @ out.g
    # costs nothing
    b.g = out.g.sum(0)

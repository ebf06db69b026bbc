# expect b.g: missing-answer
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b_g = out.g.sum(0)

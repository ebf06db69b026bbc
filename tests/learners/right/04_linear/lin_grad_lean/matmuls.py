def lin_grad_lean(inp, out, w, b):
    b.g = out.g.sum(0)
    w.g = inp.t() @ out.g
    inp.g = out.g @ w.t()

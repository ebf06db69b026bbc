# expect w.g: partial-batch
# expect b.g: partial-batch
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp[1:-1].t() @ out.g[1:-1]
    b.g = out.g[1:-1].sum(0)

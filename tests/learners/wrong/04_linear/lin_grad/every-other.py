# expect w.g: partial-batch
# expect b.g: partial-batch
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp[::2].t() @ out.g[::2]
    b.g = out.g[::2].sum(0)

# expect w.g: partial-batch
# expect b.g: partial-batch
def lin_grad_nd(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp[0].t() @ out.g[0]
    b.g = out.g[0].sum(0)

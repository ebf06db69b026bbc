# expect w.g: partial-batch
# expect b.g: partial-batch
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    k = len(inp) // 2
    w.g = inp[:k].t() @ out.g[:k]
    b.g = out.g[:k].sum(0)

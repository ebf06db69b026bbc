# expect w.g: imprecise
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = (inp.bfloat16().t() @ out.g.bfloat16()).float()
    b.g = out.g.sum(0)

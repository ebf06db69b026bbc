# expect inp.g: extra-batch-sum
def lin_grad(inp, out, w, b):
    inp.g = (out.g @ w.t()).sum(0)
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)

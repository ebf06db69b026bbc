# expect w.g: sum-of-products
def lin_grad(inp, out, w, b):
    inp.g = out.g.matmul(w.t())
    w.g = inp.sum(0).unsqueeze(1) * out.g.sum(0).unsqueeze(0)
    b.g = out.g.sum(0)

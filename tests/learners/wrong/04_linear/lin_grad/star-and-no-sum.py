# expect inp.g: elementwise-for-matmul
def lin_grad(inp, out, w, b):
    inp.g = out.g.unsqueeze(1) * w
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)

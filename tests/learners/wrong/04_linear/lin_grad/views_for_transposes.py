# expect inp.g: reshape-for-transpose
# expect w.g: reshape-for-transpose
def lin_grad(inp, out, w, b):
    n, m = w.shape
    inp.g = out.g @ w.reshape(m, n)
    w.g = inp.reshape(n, -1) @ out.g
    b.g = out.g.sum(0)

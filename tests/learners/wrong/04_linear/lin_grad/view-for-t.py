# expect inp.g: reshape-for-transpose
# expect w.g: reshape-for-transpose
def lin_grad(inp, out, w, b):
    bs, n = inp.shape
    m = w.shape[1]
    inp.g = out.g @ w.reshape(m, n)
    w.g = inp.reshape(n, bs) @ out.g
    b.g = out.g.sum(0)

def unbroadcast(g, t):
    for _ in range(g.dim() - t.dim()):
        g = g.sum(0)
    for axis, size in enumerate(t.shape):
        if size == 1:
            g = g.sum(axis, keepdim=True)
    return g


def mul_grad(a, b, out):
    a.g, b.g = unbroadcast(out.g * b, a), unbroadcast(a * out.g, b)

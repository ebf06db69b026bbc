def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(axis, keepdim=True)
    return g


def add_grad(a, b, out):
    a.g = unbroadcast(out.g, a.shape)
    b.g = unbroadcast(out.g, b.shape)

# expect return: partial-batch
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g[0]
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(axis, keepdim=True)
    return g

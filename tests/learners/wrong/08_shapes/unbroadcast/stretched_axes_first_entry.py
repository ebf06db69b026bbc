# expect return: partial-batch
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.narrow(axis, 0, 1)
    return g

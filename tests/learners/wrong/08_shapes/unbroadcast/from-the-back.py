# expect return: summed-wrong-axis | wrong-shape
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(-1)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(axis, keepdim=True)
    return g

# expect return: mean-for-sum
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.mean(0)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.mean(axis, keepdim=True)
    return g

# expect return: wrong-shape
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, n in enumerate(shape):
        if n == 1 and g.shape[i] != 1:
            return g.sum(i, keepdim=True)
    return g

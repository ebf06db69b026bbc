# expect return: wrong-shape
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1:
            g = g.sum(axis)
    return g

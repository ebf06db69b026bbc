# expect return: wrong-local | unknown | partial-batch
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.amax(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.amax(i, keepdim=True)
    return g

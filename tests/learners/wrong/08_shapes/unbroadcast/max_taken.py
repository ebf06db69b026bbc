# expect return: partial-batch
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.amax(0)
    for i, s in enumerate(shape):
        if s == 1:
            g = g.amax(i, keepdim=True)
    return g

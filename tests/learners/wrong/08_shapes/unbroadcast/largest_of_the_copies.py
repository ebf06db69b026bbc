# expect return: partial-batch | wrong-local | unknown
def unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.amax(0)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.amax(axis, keepdim=True)
    return g

# expect return: missing-batch-sum | wrong-shape
def unbroadcast(g, shape):
    if g.dim() > len(shape):
        g = g.sum(0)
    for axis, size in enumerate(shape):
        if size == 1 and axis < g.dim():
            g = g.sum(axis, keepdim=True)
    return g

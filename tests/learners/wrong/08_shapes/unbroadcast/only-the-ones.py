# expect return: missing-batch-sum
def unbroadcast(g, shape):
    new = g.dim() - len(shape)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(new + axis, keepdim=True)
    return g

def unbroadcast(g, shape):
    if g.dim() > len(shape):
        return unbroadcast(g.sum(0), shape)
    for axis in range(g.dim()):
        if g.shape[axis] != shape[axis]:
            return unbroadcast(g.sum(axis, keepdim=True), shape)
    return g

def unbroadcast(g, shape):
    new = g.ndim - len(shape)
    stretched = [new + i for i, s in enumerate(shape) if s == 1 and g.shape[new + i] != 1]
    axes = list(range(new)) + stretched
    return g.sum(axes).reshape(shape) if axes else g

def unbroadcast(g, shape):
    lead = g.dim() - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1)
    return g.sum(axes, keepdim=True).reshape(shape) if axes else g

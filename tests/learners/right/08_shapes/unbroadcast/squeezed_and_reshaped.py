def unbroadcast(g, shape):
    padded = (1,) * (g.dim() - len(shape)) + tuple(shape)
    axes = [i for i, size in enumerate(padded) if size == 1]
    return (g.sum(axes, keepdim=True) if axes else g).reshape(shape)

# expect return: wrong-shape
def unbroadcast(g, shape):
    new = g.dim() - len(shape)
    axes = list(range(new)) + [new + i for i, s in enumerate(shape) if s == 1]
    return g.sum(axes, keepdim=True) if axes else g

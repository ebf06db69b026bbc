# expect a.g: wrong-shape
# expect b.g: wrong-shape
def back(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    axes = [i for i, s in enumerate(shape) if s == 1]
    return g.sum(axes) if axes else g


def add_grad(a, b, out):
    a.g = back(out.g, a.shape)
    b.g = back(out.g, b.shape)

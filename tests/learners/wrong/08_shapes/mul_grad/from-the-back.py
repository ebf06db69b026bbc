# expect a.g: summed-wrong-axis | wrong-shape
# expect b.g: summed-wrong-axis | wrong-shape
def down(g, shape):
    while g.dim() > len(shape):
        g = g.sum(-1)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(axis, keepdim=True)
    return g


def mul_grad(a, b, out):
    a.g = down(out.g * b, a.shape)
    b.g = down(out.g * a, b.shape)

def dloss_dx(x, target):
    y = x.double() + 2
    out = (3 * y ** 2).mean()
    g = 2 * (out - target) * (6 * y) / y.numel()
    return g.to(x.dtype)

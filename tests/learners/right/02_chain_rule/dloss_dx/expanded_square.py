def dloss_dx(x, target):
    y = x.add(2)
    error = 3 * y.square().mean() - target
    return error * 12 * y / x.numel()

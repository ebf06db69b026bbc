def dloss_dx(x, target):
    y = x + 2
    g = y.clone()
    g.mul_(12).div_(g.numel()).mul_((3 * y.square()).mean() - target)
    return g

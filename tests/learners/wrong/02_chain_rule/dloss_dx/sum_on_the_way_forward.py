# expect return: wrong-point | sum-for-mean
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).sum()
    return 2 * (out - target) * 6 * y / x.numel()

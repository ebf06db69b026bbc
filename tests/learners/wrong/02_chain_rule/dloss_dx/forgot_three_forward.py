# expect return: wrong-point | missing-local
def dloss_dx(x, target):
    y = x + 2
    out = (y**2).mean()
    return 2 * (out - target) * 6 * y / x.numel()

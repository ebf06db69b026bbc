# expect return: wrong-point | missing-local
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).mean()
    return 2 * out * 6 * y / x.numel()

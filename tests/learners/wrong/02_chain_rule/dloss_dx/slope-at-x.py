# expect return: wrong-point
def dloss_dx(x, target):
    out = (3 * (x + 2) ** 2).mean()
    return 2 * (out - target) * 6 * x / x.numel()

# expect return: wrong-sign
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y * y).mean()
    return 2 * (target - out) * 6 * y / x.numel()

# expect return: wrong-local | extra-factor
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).mean()
    return (out - target) ** 2 * 6 * y / x.numel()

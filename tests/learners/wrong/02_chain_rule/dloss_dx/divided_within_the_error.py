# expect return: sum-for-mean
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).mean()
    return 2 * (out - target / x.numel()) * 6 * y

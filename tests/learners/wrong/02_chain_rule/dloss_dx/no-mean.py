# expect return: sum-for-mean
def dloss_dx(x, target):
    y = x + 2
    z = 3 * y * y
    dloss = 2 * (z.mean() - target)
    return dloss * 6 * y

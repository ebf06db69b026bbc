# expect return: hard-coded
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y**2).mean()
    dz = 2 * (out - target) / 4
    return dz * 6 * y

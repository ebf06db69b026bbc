# expect return: missing-local
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y * y).mean()
    return (out - target) * 6 * y / y.numel()

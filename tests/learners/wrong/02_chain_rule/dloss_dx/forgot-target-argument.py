# expect return: error
def dloss_dx(x):
    y = x + 2
    out = (3 * y * y).mean()
    return 2 * out * 6 * y / y.numel()

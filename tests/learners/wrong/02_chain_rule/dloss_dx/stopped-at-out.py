# expect return: missing-upstream
def dloss_dx(x, target):
    y = x + 2
    return 6 * y / y.numel()

# expect return: missing-local | missing-upstream
def dloss_dx(x, target):
    return 6 * (x + 2) / x.numel()

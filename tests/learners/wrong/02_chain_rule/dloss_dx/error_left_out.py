# expect return: missing-upstream | missing-local
def dloss_dx(x, target):
    return 6 * (x + 2) / x.numel()

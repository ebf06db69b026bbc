# expect return: wrong-operand | wrong-point
def dloss_dx(x, target):
    return 2 * (x - target) * 6 * (x + 2) / x.numel()

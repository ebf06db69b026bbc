# expect return: wrong-point | wrong-operand
def dloss_dx(x, target):
    y = x + 2
    z = 3 * y**2
    return 2 * (z - target) * 6 * y / x.numel()

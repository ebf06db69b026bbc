# expect return: error
def dloss_dx(x, target):
    y = x + 2
    out = (3 * y * y).mean()
    diff = out - target.item()
    return 2 * diff * 6 * y / y.numel()

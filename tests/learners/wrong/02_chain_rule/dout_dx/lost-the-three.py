# expect return: missing-local
def dout_dx(x):
    y = x + 2
    return 2 * y / y.numel()

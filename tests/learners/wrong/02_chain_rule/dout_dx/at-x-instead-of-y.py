# expect return: wrong-point
def dout_dx(x):
    return 6 * x / x.numel()

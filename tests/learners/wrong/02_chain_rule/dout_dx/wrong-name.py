# expect return: missing-function
def dout_dX(x):
    return 6 * (x + 2) / x.numel()

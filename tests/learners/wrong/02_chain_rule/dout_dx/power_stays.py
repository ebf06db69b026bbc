# expect return: wrong-local
def dout_dx(x):
    return 6 * (x + 2) ** 2 / x.numel()

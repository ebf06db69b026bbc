# expect return: extra-factor
def dout_dx(x):
    n = x.numel()
    dz_dx = 6 * (x + 2) / n
    return dz_dx / n

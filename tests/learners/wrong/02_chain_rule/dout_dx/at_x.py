# expect return: wrong-point
def dout_dx(x):
    dz = 6 * x
    return dz / x.numel()

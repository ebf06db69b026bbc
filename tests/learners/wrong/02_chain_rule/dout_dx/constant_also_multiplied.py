# expect return: unknown | wrong-local
def dout_dx(x):
    return (6 * x + 2) / x.numel()

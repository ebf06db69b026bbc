# expect return: shape-special
def dout_dx(x):
    n = len(x)
    return 6 * (x + 2) / (n * n)

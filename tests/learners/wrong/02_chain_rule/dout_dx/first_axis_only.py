# expect return: wrong-factor | shape-special
def dout_dx(x):
    return 6 * (x + 2) / x.shape[0]

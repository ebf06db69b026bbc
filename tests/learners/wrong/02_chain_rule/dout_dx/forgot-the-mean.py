# expect return: sum-for-mean
def dout_dx(x):
    y = x + 2
    return 6 * y

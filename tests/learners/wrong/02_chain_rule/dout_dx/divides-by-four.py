# expect return: hard-coded
def dout_dx(x):
    y = x + 2
    return 6 * y / 4

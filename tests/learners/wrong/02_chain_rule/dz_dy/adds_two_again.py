# expect return: wrong-point
def dz_dy(y):
    return 6 * (y + 2)

# expect return: wrong-local
def dz_dy(y):
    return 6 * y**2

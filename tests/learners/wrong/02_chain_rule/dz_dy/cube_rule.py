# expect return: wrong-local
def dz_dy(y):
    return 9 * y**2

# expect return: missing-local
def dz_dy(y):
    return 2 * y

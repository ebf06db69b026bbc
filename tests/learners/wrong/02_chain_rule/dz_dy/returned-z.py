# expect return: forward-value
def dz_dy(y):
    z = 3 * y * y
    return z

# expect return: missing-local | wrong-factor
def dz_dy(y):
    return y + y

# expect return: missing-path | missing-local | wrong-factor
def dz_dy(y):
    return 3 * y

# expect *: syntax-error
def dz_dy(y)
    return 6 * y

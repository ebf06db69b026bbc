def dz_dy(y):
    left = 3 * y   # from the first y
    right = 3 * y  # from the second y
    return left + right

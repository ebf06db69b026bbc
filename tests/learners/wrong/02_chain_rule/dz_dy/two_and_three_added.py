# expect return: wrong-factor | wrong-local
def dz_dy(y):
    return (3 + 2) * y

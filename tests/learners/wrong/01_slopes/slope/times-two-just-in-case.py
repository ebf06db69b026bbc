# expect return: wrong-factor
def slope(f, x, h):
    return 2 * (f(x + h) - f(x)) / h

# expect return: wrong-factor | wrong-point
def slope(f, x, h):
    return (f(x + 2 * h) - f(x)) / h

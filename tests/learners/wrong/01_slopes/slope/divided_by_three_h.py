# expect return: wrong-factor
def slope(f, x, h):
    return (f(x + h) - f(x)) / (3 * h)

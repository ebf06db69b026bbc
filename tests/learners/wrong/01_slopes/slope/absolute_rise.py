# expect return: wrong-sign | unknown
def slope(f, x, h):
    return abs(f(x + h) - f(x)) / h

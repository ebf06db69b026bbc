# expect return: wrong-point
def slope(f, x, h):
    return (f(h) - f(x)) / h

# expect return: wrong-point
def slope(f, x, h):
    ahead = f(x) + h
    return (ahead - f(x)) / h

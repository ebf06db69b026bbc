# expect return: wrong-point
def slope(f, x, h):
    return (f(x + h / 2) - f(x - h / 2)) / h

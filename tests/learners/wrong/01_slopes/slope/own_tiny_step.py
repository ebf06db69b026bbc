# expect return: hard-coded | wrong-point
def slope(f, x, h):
    h = 1e-6
    return (f(x + h) - f(x)) / h

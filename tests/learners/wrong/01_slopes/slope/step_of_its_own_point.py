# expect return: hard-coded | wrong-point
def slope(f, x, h):
    return (f(x + 1) - f(x)) / 1

# expect return: missing-local
def slope(f, x, h):
    return f(x + h) - f(x)

# expect return: wrong-type
def slope(f, x, h):
    s = (f(x + h) - f(x)) / h
    return f"{s:.4f}"

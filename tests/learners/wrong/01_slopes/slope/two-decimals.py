# expect return: imprecise
def slope(f, x, h):
    rise = f(x + h) - f(x)
    return round(rise / h, 2)

# expect return: imprecise | unknown
def slope(f, x, h):
    return (f(x + h) - f(x)) // h

# expect return: wrong-operand
def slope(f, x, h):
    return (f(x + h) - f(x)) / (x + h)

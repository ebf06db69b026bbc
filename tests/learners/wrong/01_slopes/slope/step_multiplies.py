# expect return: wrong-point | wrong-operand
def slope(f, x, h):
    return (f(x * h) - f(x)) / h

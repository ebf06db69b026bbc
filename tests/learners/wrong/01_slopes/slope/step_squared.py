# expect return: wrong-factor | wrong-operand
def slope(f, x, h):
    return (f(x + h) - f(x)) / h**2

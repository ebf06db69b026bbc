# expect return: missing-local | wrong-factor | extra-factor
def slope(f, x, h):
    # how much f moved
    return f(x + h) - f(x)

# expect return: wrong-sign
def slope(f, x, h):
    before = f(x)
    after = f(x + h)
    return (before - after) / h

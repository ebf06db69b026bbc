# expect return: wrong-sign
def slope(f, x, h):
    before = f(x + h)
    after = f(x)
    return (after - before) / h

# expect return: timeout
def slope(f, x, h):
    s = (f(x + h) - f(x)) / h
    while True:
        new = (f(x + h) - f(x)) / h
        if abs(new - s) > 1e-3:
            break
        s = new
    return s

# expect *: timeout
def slope(f, x, h):
    pos = x
    rise = 0.0
    while pos < x + h:
        rise = f(pos + h) - f(x)
    return rise / h

# expect return: forward-value
def slope(f, x, h):
    """Slope of f at x."""
    y = f(x)
    return y

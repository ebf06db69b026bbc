# expect return: hard-coded
def slope(f, x, h):
    # f(x) = x**2 at 3
    return 6.0

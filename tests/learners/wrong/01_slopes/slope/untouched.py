# expect return: todo
def slope(f, x, h):
    """Forward difference of f at x with step h."""
    return ...

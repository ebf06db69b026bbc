# expect return: wrong-sign
def central_difference(f, x, h):
    up, down = f(x + h), f(x - h)
    return (down - up) / (2 * h)

# expect return: wrong-point
def central_difference(f, x, h):
    return (f(x + 2 * h) - f(x - h)) / (3 * h)

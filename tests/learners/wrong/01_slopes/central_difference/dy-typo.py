# expect return: error
def central_difference(f, x, h):
    dy = f(x + h) - f(x - h)
    return dY / (2 * h)

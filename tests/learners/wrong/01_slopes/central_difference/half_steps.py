# expect return: wrong-point
def central_difference(f, x, h):
    return (f(x + h / 2) - f(x - h / 2)) / h

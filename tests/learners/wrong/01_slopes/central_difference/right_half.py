# expect return: wrong-point | imprecise
def central_difference(f, x, h):
    return (f(x + 2 * h) - f(x)) / (2 * h)

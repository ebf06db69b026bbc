# expect return: wrong-factor
def central_difference(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h) ** 2

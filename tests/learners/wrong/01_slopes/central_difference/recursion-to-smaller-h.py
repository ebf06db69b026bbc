# expect return: error
def central_difference(f, x, h):
    rough = (f(x + h) - f(x - h)) / (2 * h)
    better = central_difference(f, x, h / 2)
    return better if better != rough else rough

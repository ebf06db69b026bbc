# expect return: wrong-operand
def central_difference(f, x, h):
    return f(x + h) / (2 * h) - f(x - h)

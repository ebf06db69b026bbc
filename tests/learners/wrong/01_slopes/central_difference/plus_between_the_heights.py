# expect return: wrong-sign | wrong-operand
def central_difference(f, x, h):
    return (f(x + h) + f(x - h)) / (2 * h)

# expect return: imprecise
def central_difference(f, x, h):
    return (f(x + h) - f(x)) / h

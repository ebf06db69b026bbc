# expect return: wrong-factor | missing-local
def central_difference(f, x, h):
    return (f(x + h) - f(x - h)) / h

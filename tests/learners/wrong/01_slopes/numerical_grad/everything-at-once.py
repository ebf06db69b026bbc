# expect return: wrong-shape
def numerical_grad(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)
